"""Whether the gateway beside it lives, for whoever watches a container: exit 0 if it does, 1 if it does not.

Beyond loopback every route needs a token, this one too, and there is one in the data folder: the operator's, which only
the account of the gateway can read. It is sent to this machine and printed nowhere.

`/livez` and not `/readyz`: ready means that an MCP server can be reached, and to replace a gateway because of that
would cancel the calls that wait in it.
"""

import os
import sys
import urllib.request
from pathlib import Path

SECONDS = 4


def lives(folder: Path, port: str) -> bool:
    """Whether it answers."""
    # A proxy that the environment names is for the outside.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        token = (folder / "operator.token").read_text(encoding="ascii").strip()
        asked = urllib.request.Request(f"http://127.0.0.1:{port}/livez", headers={"Authorization": f"Bearer {token}"})
        with opener.open(asked, timeout=SECONDS) as answer:
            return answer.status == 200
    except (OSError, ValueError):
        return False


if __name__ == "__main__":
    alive = lives(Path(os.environ["INTERLOCK_DATA_DIR"]), os.environ.get("INTERLOCK_LISTEN__PORT", "7373"))
    sys.exit(0 if alive else 1)
