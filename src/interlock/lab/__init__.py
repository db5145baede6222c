"""The lab: what probes, mocks and tests MCP servers without harm, under a safety policy of its own."""
