"""Servers that are only played: mocks from a file, and recordings of sessions."""
