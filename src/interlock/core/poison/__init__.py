"""Poison: words in a tool's definition, or in its result, that are written for the model and against its user."""
