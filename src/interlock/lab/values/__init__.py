"""Arguments from a JSON Schema: valid ones, ones at the edge, and ones to be refused."""
