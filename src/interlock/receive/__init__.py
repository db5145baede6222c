"""From the agents to us: decoding, identity, the catalogue each caller sees, and the face of the protocol.

Everything that arrives here is hostile until proven otherwise. Whatever door a call comes through, it leaves this
package as a `Call` for the pipeline, and comes back as a reply an agent can act on.
"""
