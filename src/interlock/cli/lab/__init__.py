"""The verbs of the lab: each reaches its server through a gateway, like everybody else."""
