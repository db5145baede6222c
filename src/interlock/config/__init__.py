"""The one settings tree: `interlock.yaml`, environment overrides, and where each value came from.

Only the command line and the composition root import this package; everyone else gets plain values. A bad file starts
nothing: every problem is reported at once, each with its position and a way out.
"""
