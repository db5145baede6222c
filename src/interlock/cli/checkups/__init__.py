"""The checks of `interlock doctor`, their codes, and what it can mend by itself."""
