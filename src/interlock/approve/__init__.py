"""The waiting room: calls that need a second key, and those who turn it."""
