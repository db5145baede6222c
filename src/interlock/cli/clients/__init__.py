"""Pointing MCP clients at Interlock: their files found, read, rewritten with everything kept, and given back."""
