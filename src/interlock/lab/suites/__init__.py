"""Tests for the tools of servers: written by people, drafted from what was observed, and run."""
