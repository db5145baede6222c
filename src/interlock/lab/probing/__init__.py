"""Calling the tools of a server as far as that is safe, and saying what is wrong with them."""
