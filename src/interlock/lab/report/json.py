"""A run as JSON, for scripts and for the dashboard. The names in it are those of the types and are never renamed.

It is written in ASCII, so that nothing in it plays tricks on whoever prints it.
"""

import json

import msgspec

from interlock.lab.run import Run


def json_of(run: Run) -> str:
    """The report of a run as JSON that ends in a line break."""
    return json.dumps(msgspec.to_builtins(run), indent=2, ensure_ascii=True) + "\n"
