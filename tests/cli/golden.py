"""Files of clients as people have them: comments, odd layouts, secrets, servers that are switched off.

The secrets stand in the stored files as marks and are filled in here, so that nobody takes the files for a leak.
"""

from pathlib import Path

from interlock.cli.clients.table import CLIENTS, Surroundings

FOLDER = Path(__file__).parent.parent / "data" / "clients"
SECRET = "ghp_" + "0123456789" * 4
PASSWORD = "hunter2-" + "correct-horse"
SECRETS = (SECRET, PASSWORD)


def golden(client: str) -> bytes:
    """What the file of a client holds."""
    file = FOLDER / f"{client}.{'toml' if CLIENTS[client].toml else 'json'}"
    return file.read_bytes().replace(b"@SECRET@", SECRET.encode()).replace(b"@PASSWORD@", PASSWORD.encode())


def around(folder: Path) -> Surroundings:
    """A home and a working directory below a folder, with no variables."""
    return Surroundings(folder / "home", folder / "work", {}, "linux")


def place(client: str, surroundings: Surroundings) -> Path:
    """Write the file of a client where the client has it."""
    file = CLIENTS[client].user_file(surroundings)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(golden(client))
    return file
