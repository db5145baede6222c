"""The composition root: from a configuration to a gateway that runs and listens.

`compiled` reads the configuration for the parts, `gateway` starts and stops them, `listening` gives them a door;
`loading` brings all of that into memory.
"""
