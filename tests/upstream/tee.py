"""Writes down what a server receives over stdio, and changes nothing of it.

tee.py LOG COMMAND [ARGUMENT…]
"""

import subprocess
import sys


def main() -> int:
    with subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE) as server, open(sys.argv[1], "ab") as log:
        assert server.stdin is not None
        for line in sys.stdin.buffer:
            log.write(line)
            log.flush()
            server.stdin.write(line)
            server.stdin.flush()
        server.stdin.close()
        return server.wait()


if __name__ == "__main__":
    sys.exit(main())
