"""Interlock as it is measured: `interlock serve` in a process of its own, with the configuration that a bench writes.

Nothing of it is opened up for the measurement: tokens are made over REST by the operator, and its data are only read.
"""

import contextlib
import json
import sqlite3
import sys
import time
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from processes import PATIENCE, Failed, Process, asked, free_port, last_words, serving
from upstream import READ_TOOL, WRITE_TOOL

WORDS = ("drop", "truncate", "shutdown", "grant", "alter")
VERBS = ("get", "list", "create", "update", "delete", "run", "search", "frob")


@dataclass(frozen=True)
class Gateway:
    """A gateway, and what it keeps."""

    process: Process
    folder: Path

    @property
    def credential(self) -> str:
        return (self.folder / "operator.token").read_text(encoding="utf-8").strip()

    @property
    def authorised(self) -> dict[str, str]:
        """The headers of a request of the operator's."""
        return {"Authorization": f"Bearer {self.credential}", "Content-Type": "application/json"}

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Straight from its store."""
        with contextlib.closing(sqlite3.connect(f"file:{self.folder}/interlock.db?mode=ro", uri=True)) as connection:
            return connection.execute(sql).fetchall()

    def asked(self) -> int:
        """How many approvals were ever asked for."""
        return self.rows("SELECT count(*) FROM approval")[0][0]

    def pending(self) -> list[str]:
        return [row[0] for row in self.rows("SELECT id FROM approval WHERE status = 'pending'")]


@contextlib.contextmanager
def gateway(folder: Path, text: str) -> Generator[Gateway]:
    """`interlock serve` with this configuration, from when it is ready; its data stay in the folder."""
    config, log, port = folder / "interlock.yaml", folder / "ours.log", free_port()
    config.write_text(text, encoding="utf-8")
    argv = [sys.executable, "-m", "interlock", "serve", "--config", str(config), "--port", str(port)]
    with serving([*argv, "--data-dir", str(folder / "data")], log, port) as process:
        until = time.monotonic() + PATIENCE
        while not _is_ready(port):
            if time.monotonic() > until:
                raise Failed(f"is not ready: {last_words(log)}")
            time.sleep(0.05)
        yield Gateway(process, folder / "data")


def _is_ready(port: int) -> bool:
    with asked(port, "GET", "/readyz") as answer:
        return answer.status == 200


def tokens(ours: Gateway, wanted: int) -> list[str]:
    """Tokens of as many callers, made as an operator would."""
    made: list[str] = []
    for number in range(wanted):
        body = json.dumps({"name": f"caller-{number}", "roles": ["agent"]}).encode()
        with asked(ours.process.port, "POST", "/api/v1/tokens", body, ours.authorised) as answer:
            said = json.loads(answer.read())
            if answer.status != 201:
                raise Failed(f"no token: {said}")
            made.append(said["token"])
    return made


# Settings -------------------------------------------------------------------------------------------------------


def settings(server: dict[str, Any], rules: int, **more: Any) -> str:
    """A configuration with one server and so many rules, of which the last lets the two tools of the callers pass.
    JSON is YAML too."""
    written = [_rule(number) for number in range(rules - 1)]
    passing = {
        "id": "callers", "server_id": "up", "tool_pattern": [f"up__{READ_TOOL}", f"up__{WRITE_TOOL}"],
        "effect": "allow", "priority": 9,
    }  # fmt: skip
    return json.dumps({"servers": {"up": server}, "route_rules": [*written, *[passing][:rules]], **more})


def _rule(number: int) -> dict[str, Any]:
    """A mix as operators write them: by prefix, by class, by caller, a fifth by arguments. Five in a thousand are about
    the tools that are called, so that their arguments have to be looked at, each for another word; none of them fits.
    """
    verb, shape = VERBS[number % len(VERBS)], number % 10
    rule: dict[str, Any] = {"id": f"rule-{number}", "server_id": "up", "effect": "hold", "priority": number % 3}
    rule["tool_pattern"] = f"up__{verb}_thing_{number}*" if number % 200 else "up__*_echo"
    if number % 5 == 0:
        word = WORDS[number // 200 % len(WORDS)]
        rule |= {"effect": "deny", "args": {"text": {"matches": rf"(?i)\b{word}\b"}}}
    if shape == 4:
        rule["safety_class"] = ["dangerous"]
    if shape == 8:
        rule["caller"] = "ci-*"
    return rule
