"""A real upstream for the tests, and how to run it."""
