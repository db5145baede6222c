"""`interlock doctor --prove`: the guarantees, tried out on a copy of the user's own configuration."""
