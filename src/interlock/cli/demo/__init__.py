"""The demonstration: its stage, its agent, and the story that it tells."""
