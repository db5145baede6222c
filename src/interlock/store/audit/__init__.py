"""Proof of the log: signed seals, the anchor kept elsewhere, and the check of them all."""
