"""A run for people, for CI and for code hosts; what servers wrote stays text in all of them."""
