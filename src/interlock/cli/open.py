"""`interlock open`: sign a browser in to the dashboard of the gateway that runs, as the operator or by INTERLOCK_TOKEN.

The link works once and soon. It is printed and, where there is a browser, opened; the code stands behind `#`, so that
no server and no log on the way ever sees it.
"""

import asyncio
import contextlib
import os
import webbrowser

from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.gateway import Api, address_of, credential_of, folder_of, remote
from interlock.cli.render import note, print_json, print_lines, span
from interlock.errors import Exit
from interlock.web.browsers import CODE_SECONDS


def _options(parser: Options) -> None:
    parser.add_argument("--print", action="store_true", help="print the link and open nothing")
    add_json(parser)


def _open(values: Values) -> Exit:
    folder = folder_of(values)
    address = address_of(folder)
    made = asyncio.run(Api(remote(address, folder), credential_of(folder)).post("session", "link", body={}))
    link = f"{address}{made['path']}"
    if values.json:
        print_json({"url": link, "expires_at": made["expires_at"]})
        return Exit.OK
    print_lines([link])
    opened = not values.print and open_browser(link)
    note(f"The link signs one browser in, once, within {span(CODE_SECONDS)}.{'' if opened else ' Open it yourself.'}")
    return Exit.OK


def open_browser(link: str) -> bool:
    """Open a link for the person at this machine; whether that was possible."""
    # Over ssh, or without a screen, a browser in the terminal would take the terminal away.
    if not (os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.name == "nt" or _is_mac()):
        return False
    with contextlib.suppress(webbrowser.Error, OSError):
        return webbrowser.open(link)
    return False


def _is_mac() -> bool:
    return os.uname().sysname == "Darwin" and "SSH_CONNECTION" not in os.environ


VERB = Verb(
    "open",
    "Open the dashboard: print a link that signs a browser in once, and open it where there is one.",
    _options,
    _open,
    ("interlock open", "interlock open --print", "interlock open --json"),
)
