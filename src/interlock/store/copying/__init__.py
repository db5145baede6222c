"""A whole store from one place to another: between the two databases, and into a file that is a backup."""
