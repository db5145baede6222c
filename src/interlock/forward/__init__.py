"""From us to the upstreams: links that carry messages, upstreams that speak the protocol, the fleet of all of them.

Only the pipeline and the composition root may import this package: there is no second door.
"""
