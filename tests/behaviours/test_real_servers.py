"""Software that nobody here wrote on both sides: six servers behind one gateway, and every official client before it.

Each client has one session, in which it lists, searches, reads from every server and writes to each that can be written
to. The tests look at what the client was told, and at what has really become of files, graph and repository.
"""

import asyncio
import base64
import gzip
import json
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from interlock.core.health import Health
from tests.cli.running import eventually, gateway_beside
from tests.clients import typescript
from tests.clients.inspector import inspector_in
from tests.clients.python import client_in
from tests.clients.script import LIST, Message, Outcome, Play, Step, call
from tests.running import Running
from tests.upstream.others import COMMIT, GREETING, SECRET_OF_THE_PAGE, World, world

RULES = """
expose: both
route_rules:
  - {id: files-may-be-written, tool_pattern: files__write_file, effect: allow}
  - {id: resources-may-be-made, tool_pattern: everything__gzip-file-as-resource, effect: allow}
"""
"""Everything else is as it comes: these two would wait for a person otherwise."""
CLASSES = {
    "everything": {
        "read-only": "echo get-annotated-message get-env get-resource-links get-resource-reference "
        "get-structured-content get-sum get-tiny-image",
        "write-capable": "simulate-research-query toggle-simulated-logging toggle-subscriber-updates",
        "subprocess": "trigger-long-running-operation",
        "unknown": "gzip-file-as-resource",
    },
    "files": {
        "read-only": "directory_tree get_file_info list_allowed_directories list_directory list_directory_with_sizes "
        "read_file read_media_file read_multiple_files read_text_file search_files",
        "write-capable": "create_directory",
        "dangerous": "edit_file move_file write_file",
    },
    "memory": {
        "read-only": "read_graph search_nodes",
        "write-capable": "add_observations create_entities create_relations",
        "subprocess": "open_nodes",
        "dangerous": "delete_entities delete_observations delete_relations",
    },
    "git": {
        "read-only": "git_branch git_diff git_diff_staged git_diff_unstaged git_log git_show git_status",
        "write-capable": "git_add git_checkout git_commit git_create_branch",
        "dangerous": "git_reset",
    },
    "time": {"read-only": "convert_time get_current_time"},
    "fetch": {"read-only": "fetch"},
}
DOCUMENT = "everything+demo://resource/static/document/features.md"
NOON_IN_TOKYO = {"source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo"}
CLIENTS = [
    "python-legacy",
    "python-2026-07-28",
    "python-auto",
    "typescript-1",
    "typescript-2-legacy",
    "typescript-2-2026-07-28",
    "typescript-2-auto",
    "inspector-legacy",
    "inspector-modern",
]
each_client = pytest.mark.parametrize("client", CLIENTS)


def client_named(name: str, home: Path) -> Play:
    kind, _, mode = name.partition("-")
    if kind == "inspector":
        return inspector_in(mode, home)
    if kind == "python":
        return client_in(mode)
    return typescript.play if mode == "1" else typescript.second_in(mode.removeprefix("2-"))


# What is said ---------------------------------------------------------------------------------------------------


def through(variant: str, tool: str, args: Message, declared: str = "") -> Step:
    """A call of a tool of a server, with the intent that fits the variant unless another one is declared."""
    return call(f"call_tool_{variant}", {"name": tool, "args": args, "intent": {"operation_type": declared or variant}})


def text_as_url(text: str) -> str:
    return "data:text/plain;base64," + base64.b64encode(text.encode()).decode()


def script(client: str, given: World) -> dict[str, Step]:
    """What a client does. What it writes bears its name, and no step needs another one to come before it."""
    repository, entity = str(given.repository), {"name": client, "entityType": "client", "observations": ["was here"]}
    zipped = {"name": client, "data": text_as_url(client), "outputType": "resource"}
    return {
        "list": LIST,
        "search": call("retrieve_tools", {"query": "convert a time between time zones"}),
        "read everything": through("read", "everything:get-sum", {"a": 40, "b": 2}),
        "read files": through("read", "files:read_text_file", {"path": str(given.files / "greeting.txt")}),
        "read memory": through("read", "memory:read_graph", {}),
        "read git": through("read", "git:git_log", {"repo_path": repository}),
        "read time": through("read", "time:convert_time", NOON_IN_TOKYO),
        "read fetch": through("read", "fetch:fetch", {"url": given.page}),
        "write everything": through("write", "everything:gzip-file-as-resource", zipped),
        "write files": through(
            "destructive", "files:write_file", {"path": str(given.files / client), "content": f"by {client}"}
        ),
        "write memory": through("write", "memory:create_entities", {"entities": [entity]}),
        "write git": through("write", "git:git_create_branch", {"repo_path": repository, "branch_name": client}),
        "directly": call("time__convert_time", NOON_IN_TOKYO),
        "not as a read": through(
            "read", "files:write_file", {"path": str(given.files / f"{client}-refused"), "content": "x"}
        ),
        "not with two minds": through("read", "files:create_directory", {"path": str(given.files / "no")}, "write"),
        "not that argument": through("read", "git:git_log", {"repo_path": 5}),
        "resources": Step("resources"),
        "resource": Step("read", DOCUMENT),
        "prompts": Step("prompts"),
        "prompt": Step("prompt", "everything__args-prompt", {"city": "Bern"}),
    }


# What came of it ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Session:
    """What one client was told."""

    client: str
    outcomes: dict[str, Outcome]

    def result(self, step: str) -> Message:
        outcome = self.outcomes[step]
        assert outcome.result is not None, outcome.error
        return outcome.result

    def text(self, step: str) -> str:
        """What a tool said, if it says that it succeeded."""
        result = self.result(step)
        assert result.get("isError") is not True, result
        return result["content"][0]["text"]

    def refusal(self, step: str) -> str:
        result = self.result(step)
        assert result["isError"] is True
        return result["structuredContent"]["code"]


class Stage:
    """The gateway, what its servers work on, and the sessions, each held once when a test first asks for it."""

    def __init__(self, running: Running, given: World, home: Path) -> None:
        self.running, self.world = running, given
        self._home = home
        self._held: dict[str, Session | None] = {}

    def session(self, client: str) -> Session:
        if client not in self._held:
            self._held[client] = None
            self._held[client] = asyncio.run(self._hold(client))
        session = self._held[client]
        assert session is not None, "this session came to no end, see the first test of it"
        return session

    async def _hold(self, client: str) -> Session:
        steps = script(client, self.world)
        return Session(client, dict(zip(steps, await self.take(client, *steps.values()), strict=True)))

    async def take(self, client: str, *steps: Step) -> list[Outcome]:
        """What comes of steps that a client takes."""
        async with asyncio.timeout(60):
            return (await client_named(client, self._home)(self.running.url, steps)).outcomes

    def graph(self) -> set[str]:
        """The names of the entities that the memory server has on disk."""
        lines = self.world.memory.read_text(encoding="utf-8").splitlines()
        return {each["name"] for each in map(json.loads, lines) if each["type"] == "entity"}


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Generator[Stage]:
    folder = tmp_path_factory.mktemp("real")
    (folder / "home").mkdir()
    with world(folder) as given, gateway_beside(folder, RULES + given.yaml()) as running:
        # A server that fails to start on a busy machine is started again; what is tested here is what they do then.
        eventually(lambda: not unready(running))
        yield Stage(running, given, folder / "home")


def unready(running: Running) -> dict[str, str]:
    """The servers that cannot be called, and why."""
    return {each.id: each.problem for each in running.gateway.fleet.states() if each.health is not Health.READY}


@pytest.fixture
def session(stage: Stage, client: str) -> Session:
    return stage.session(client)


# The servers ----------------------------------------------------------------------------------------------------


def test_all_six_servers_are_connected_and_each_speaks_its_own_era(stage: Stage) -> None:
    states = {each.id: each for each in stage.running.gateway.fleet.states()}

    assert unready(stage.running) == {}
    assert states.keys() == CLASSES.keys()
    assert {name for name, each in states.items() if each.protocol_version == "2026-07-28"} == {"git", "time", "fetch"}


@pytest.mark.parametrize("server", CLASSES)
def test_every_tool_of_each_server_is_classified(stage: Stage, server: str) -> None:
    classes: dict[str, list[str]] = {}
    for each in stage.running.gateway.pipeline.book:
        if each.tool.server == server:
            classes.setdefault(each.classification.gateway, []).append(each.tool.name)

    assert {name: " ".join(sorted(tools)) for name, tools in classes.items()} == CLASSES[server]


# Reading --------------------------------------------------------------------------------------------------------


@each_client
def test_every_tool_is_listed(session: Session) -> None:
    listed = {tool["name"] for tool in session.result("list")["tools"]}
    offered = {
        f"{server}__{tool}"
        for server, classes in CLASSES.items()
        for tools in classes.values()
        for tool in tools.split()
    }

    assert listed >= offered
    assert len(offered) == 51


@each_client
def test_a_tool_is_found_by_what_it_does(session: Session) -> None:
    best = json.loads(session.text("search"))["tools"][0]

    assert (best["name"], best["call_with"]) == ("time:convert_time", "call_tool_read")


@each_client
@pytest.mark.parametrize(
    ("step", "said"),
    [
        ("read everything", "42"),
        ("read files", GREETING),
        ("read memory", "entities"),
        ("read git", COMMIT),
        ("read time", "21:00:00+09:00"),
        ("read fetch", SECRET_OF_THE_PAGE),
        ("directly", "21:00:00+09:00"),
    ],
)
def test_each_server_can_be_read(session: Session, step: str, said: str) -> None:
    assert said in session.text(step)


def test_only_the_page_on_loopback_was_fetched(stage: Stage) -> None:
    stage.session(CLIENTS[0])

    assert set(stage.world.asked) == {"/robots.txt", "/page"}


# Writing --------------------------------------------------------------------------------------------------------


@each_client
def test_a_file_is_really_written(stage: Stage, session: Session) -> None:
    assert session.text("write files").startswith("Successfully wrote")
    assert (stage.world.files / session.client).read_text(encoding="utf-8") == f"by {session.client}"


@each_client
def test_the_graph_really_changes(stage: Stage, session: Session) -> None:
    assert session.client in session.text("write memory")
    assert session.client in stage.graph()


@each_client
def test_the_repository_really_has_a_new_branch(stage: Stage, session: Session) -> None:
    assert session.client in session.text("write git")
    assert session.client in stage.world.branches()


@each_client
def test_a_resource_that_a_tool_makes_can_be_read_afterwards(stage: Stage, session: Session) -> None:
    made = session.result("write everything")["content"][0]["resource"]
    uri = f"everything+demo://resource/session/{session.client}"
    (read,) = asyncio.run(stage.take("python-auto", Step("read", uri)))
    assert read.result is not None, read.error
    (content,) = read.result["contents"]

    assert made["blob"] == content["blob"]
    assert gzip.decompress(base64.b64decode(content["blob"])).decode() == session.client


# Refusals -------------------------------------------------------------------------------------------------------


@each_client
def test_what_writes_is_not_called_as_a_read(stage: Stage, session: Session) -> None:
    assert session.refusal("not as a read") == "SERVER_MISMATCH"
    assert not (stage.world.files / f"{session.client}-refused").exists()


@each_client
def test_who_says_two_different_things_is_refused(stage: Stage, session: Session) -> None:
    assert session.refusal("not with two minds") == "INTENT_MISMATCH"
    assert not (stage.world.files / "no").exists()


@each_client
def test_arguments_that_do_not_fit_the_tool_are_refused(session: Session) -> None:
    assert session.refusal("not that argument") == "INVALID_ARGUMENTS"


# Resources and prompts ------------------------------------------------------------------------------------------


@each_client
def test_resources_are_listed_and_read(session: Session) -> None:
    listed: list[Any] = session.result("resources")["resources"]
    (content,) = session.result("resource")["contents"]

    assert DOCUMENT in [each["uri"] for each in listed]
    assert "Everything Server" in content["text"]


@each_client
def test_prompts_are_listed_and_filled_in(session: Session) -> None:
    listed = {each["name"] for each in session.result("prompts")["prompts"]}
    (message,) = session.result("prompt")["messages"]

    assert {"everything__args-prompt", "fetch__fetch"} <= listed
    assert message["content"]["text"] == "What's weather in Bern?"
