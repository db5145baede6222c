"""TARGET is a server id, a URL or a command line, and whatever it is stands behind a gateway."""

import asyncio
import sys
from pathlib import Path

import pytest

from interlock import errors
from interlock.cli.lab import target as module
from interlock.cli.lab.target import START_SECONDS, Site, Wanted, at_target, start_seconds, wanted
from interlock.core.freezes import FreezeKind, Frozen
from interlock.errors import Code, InterlockError
from interlock.lab.run import outcome_of
from tests.cli.lab.places import SAMPLE, values_of
from tests.cli.running import Interlock
from tests.running import server_yaml, serving


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["files"], Wanted(server="files")),
        (["https://host/mcp"], Wanted(url="https://host/mcp")),
        (["npx -y 'a b'"], Wanted(argv=("npx", "-y", "a b"))),
        (["npx", "-y", "thing"], Wanted(argv=("npx", "-y", "thing"))),
        (["./server"], Wanted(argv=("./server",))),
    ],
)
def test_a_target_is_what_it_looks_like(words: list[str], meant: Wanted) -> None:
    assert wanted(words) == meant


@pytest.mark.parametrize("text", ["", "  ", "'open"])
def test_a_target_that_is_nothing_is_refused(text: str) -> None:
    with pytest.raises(InterlockError) as refused:
        wanted([text])
    assert refused.value.reason.code is Code.BAD_REQUEST


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["npx -y @modelcontextprotocol/server-filesystem /tmp"], "server-filesystem"),
        (["npx -y @scope/thing@1.2.3 --flag"], "thing"),
        (["uvx mcp-server-time"], "mcp-server-time"),
        (["/usr/bin/python3 /srv/My_Server.py"], "my-server"),
        (["env KEY=value node dist/index.js"], "index"),
        (["node /srv/@scope/server-memory/dist/index.js"], "server-memory"),
        (["https://mcp.example.com:8443/x"], "mcp-example-com"),
        (["python3 -m some.module"], "some-module"),
        (["/usr/bin/node /"], "server"),
        (["interlock mock --tools-from records.yaml"], "mock"),
    ],
)
def test_a_server_that_has_no_id_gets_one_that_the_configuration_would_take(words: list[str], name: str) -> None:
    assert wanted(words).id == name


def test_secrets_in_a_command_line_are_not_shown() -> None:
    assert "hunter22" not in wanted(["serve --password=hunter22 x"]).shown


async def test_a_command_line_runs_behind_a_gateway_of_its_own_that_keeps_its_record_with_the_run(
    tmp_path: Path,
) -> None:
    async with at_target(values_of("--", *SAMPLE, data=tmp_path / "data")) as site:
        assert "list_notes" in [each.name for each in await site.bench.tools()]
        observed = await site.bench.call("list_notes", {})
    assert outcome_of(observed) == "ok"
    assert (site.run.path / "interlock.db").exists()
    assert site.run.path.parent == tmp_path / "data" / "lab"


def test_the_log_of_a_run_is_read_like_any_other(tmp_path: Path, il: Interlock) -> None:
    async def one_call() -> Site:
        async with at_target(values_of("--", *SAMPLE, data=tmp_path / "data")) as site:
            await site.bench.call("list_notes", {})
        return site

    site = asyncio.run(one_call())
    assert {each.name for each in site.run.path.iterdir()} == {"interlock.db"}, "nothing that only a gateway needs"
    (call,) = il("activity", "list", "--type", "tool_call", "--json", "--data-dir", str(site.run.path)).json["items"]
    assert (call["tool"], call["entry"], call["status"]) == ("list_notes", "lab", "success")


def test_the_log_of_a_run_is_not_sealed_whoever_looks_at_it_and_leaves_the_anchor_of_the_user_alone(
    tmp_path: Path, il: Interlock
) -> None:
    anchor, file = tmp_path / "anchor.jsonl", tmp_path / "il.yaml"
    file.write_text(f"record: {{anchor: {anchor}}}\n")
    given = ("--config", str(file), "--data-dir")
    probed = il("probe", *given, str(tmp_path / "data"), "--", *SAMPLE)
    before = anchor.read_text()
    (run,) = (tmp_path / "data" / "lab").iterdir()
    verified = il("audit", "verify", *given, str(run))
    looked = il("activity", "list", *given, str(run))
    refused = il("audit", "checkpoint", *given, str(run))
    again = il("audit", "verify", *given, str(run), "--json")
    of_the_user = il("audit", "verify", *given, str(tmp_path / "data"))

    assert (probed.exit, verified.exit, looked.exit, refused.exit, again.exit, of_the_user.exit) == (20, 0, 0, 4, 0, 0)
    assert verified.lines[0] == "The log is intact."
    assert verified.lines[2:] == [
        "It is not sealed: its records are chained, but whoever can write to it may have written all of it anew."
    ]
    assert refused.err.startswith("This is the record of a run of the lab, which is not sealed.\n")
    assert (again.json["checkpoints"], again.json["anchored"], again.json["intact"]) == (0, None, True)
    assert anchor.read_text() == before
    assert {each.name for each in run.iterdir()} & {"marks.key", "seal.key", "seal.pub", "anchor.jsonl"} == set()


async def test_a_configured_server_is_called_through_the_gateway_that_runs(tmp_path: Path) -> None:
    async with serving(tmp_path, "servers:\n" + server_yaml("notes", SAMPLE)) as running:
        async with at_target(values_of("notes", data=tmp_path / "data")) as site:
            await site.bench.call("list_notes", {})
        (call,) = await running.activities()
    assert (call.server, call.tool, call.body["entry"]) == ("notes", "list_notes", "lab")


def marked(file: Path) -> list[str]:
    """A command line that leaves a file behind when it is started."""
    code = "import sys; open(sys.argv[1], chr(119)).close(); from interlock.lab.sample import main; main()"
    return [sys.executable, "-c", code, str(file)]


async def test_of_the_configured_servers_only_the_one_that_is_meant_is_started(tmp_path: Path) -> None:
    one, two = (server_yaml(name, marked(tmp_path / name)) for name in ("one", "two"))
    (tmp_path / "il.yaml").write_text(f"servers:\n{one}{two}")
    values = values_of("one", data=tmp_path / "data", config=tmp_path / "il.yaml")
    async with at_target(values) as site:
        assert [each.name for each in await site.bench.tools()]
    assert ((tmp_path / "one").exists(), (tmp_path / "two").exists()) == (True, False)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["nothing"], Code.NOT_FOUND, "nothing"),
        (["/does/not/exist"], Code.UPSTREAM_DOWN, "No such file"),
        (["http://127.0.0.1:9/mcp"], Code.UPSTREAM_DOWN, "cannot be reached"),
        ([f"{sys.executable} -c pass"], Code.UPSTREAM_DOWN, "exited"),
    ],
)
async def test_a_target_that_does_not_run_is_one_clear_error_and_leaves_nothing(
    tmp_path: Path, words: list[str], code: Code, told: str
) -> None:
    with pytest.raises(InterlockError) as refused:
        async with at_target(values_of(*words, data=tmp_path / "data")):
            raise AssertionError("it was reached")
    assert refused.value.reason.code is code
    assert told in refused.value.reason.text
    assert refused.value.reason.fix
    assert list((tmp_path / "data" / "lab").iterdir()) == []


async def test_a_freeze_of_the_users_gateway_stops_what_it_does_not_know(tmp_path: Path) -> None:
    async with serving(tmp_path) as running:
        async with at_target(values_of("--", *SAMPLE, data=tmp_path / "data")) as site:
            before = await site.bench.call("list_notes", {})
            await running.gateway.parts.room.freezer.freeze(Frozen(FreezeKind.ALL), "olga", "a test")
            during = await site.bench.call("list_notes", {})
        with pytest.raises(InterlockError) as refused:
            async with at_target(values_of("--", *SAMPLE, data=tmp_path / "data")):
                raise AssertionError("it was reached")
    assert outcome_of(before) == "ok"
    assert during.refusal is not None
    assert (during.refusal.code, refused.value.reason.code) == (Code.FROZEN, Code.FROZEN)


ADHOC = wanted(SAMPLE).id


@pytest.mark.parametrize(
    ("what", "stopped"),
    [
        (Frozen(FreezeKind.SERVER, ADHOC), True),
        (Frozen(FreezeKind.CALLER, "operator"), True),
        (Frozen(FreezeKind.CALLER, "operator-agent"), True),
        (Frozen(FreezeKind.SERVER, "other"), False),
        (Frozen(FreezeKind.CALLER, "other"), False),
    ],
)
async def test_a_freeze_of_the_server_or_of_the_operator_stops_a_run_under_way(
    tmp_path: Path, what: Frozen, stopped: bool
) -> None:
    async with serving(tmp_path) as running, at_target(values_of("--", *SAMPLE, data=tmp_path / "data")) as site:
        await running.gateway.parts.room.freezer.freeze(what, "olga", "")
        observed = await site.bench.call("list_notes", {})
    assert (observed.refusal is not None) is stopped
    if observed.refusal is not None:
        assert observed.refusal.code is Code.FROZEN
        assert what.name in observed.refusal.text


@pytest.mark.parametrize("words", [(), ("--server", ADHOC)])
def test_a_freeze_that_was_ordered_while_no_gateway_runs_stops_a_run_at_its_start(
    tmp_path: Path, il: Interlock, words: tuple[str, ...]
) -> None:
    (tmp_path / "il.yaml").write_text("servers:\n" + server_yaml(ADHOC, SAMPLE))
    given = ("--config", str(tmp_path / "il.yaml"), "--data-dir", str(tmp_path / "data"))
    frozen = il("freeze", *words, *given)
    done = il("probe", *given, "--", *marked(tmp_path / "started"))
    named = il("probe", *given, "--", *SAMPLE)
    assert frozen.exit == 0
    assert named.exit == 10
    assert (done.exit == 10, (tmp_path / "started").exists()) == (not words, bool(words)), "another server goes on"


@pytest.mark.parametrize(
    ("target", "seconds"),
    [
        (wanted(["sleep", "1000"]), START_SECONDS),
        (wanted(["/usr/bin/npx", "-y", "thing"]), None),
        (wanted(["uvx", "thing"]), None),
        (wanted(["https://host/mcp"]), None),
    ],
)
def test_what_has_to_be_fetched_first_has_longer_to_start(target: Wanted, seconds: float | None) -> None:
    assert start_seconds(target) == seconds


async def test_a_program_that_never_answers_is_told_soon_with_its_last_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "START_SECONDS", 0.5)
    said = "; ".join(f"echo {each} >&2" for each in ("one", "two", "password=hunter22hunter22", "four" * 200))
    with pytest.raises(InterlockError) as refused:
        async with at_target(values_of("--", "sh", "-c", f"{said}; exec sleep 1000", data=tmp_path / "data")):
            raise AssertionError("it was reached")
    text = refused.value.reason.text
    assert "it answered neither server/discover nor initialize within 0.5 s" in text
    assert "The last that it wrote: two | " in text
    assert "hunter22hunter22" not in text
    assert text.endswith("four")
    assert text.partition("The last that")[2].count("four") < 200, "it has an end"


async def test_a_program_that_never_says_anything_is_said_to_have_written_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "START_SECONDS", 0.5)
    with pytest.raises(InterlockError, match="It wrote nothing to stderr"):
        async with at_target(values_of("--", "sleep", "1000", data=tmp_path / "data")):
            raise AssertionError("it was reached")


async def test_a_rule_of_the_user_holds_for_a_server_that_is_nowhere_configured(tmp_path: Path) -> None:
    (tmp_path / "il.yaml").write_text(
        f"servers:\n{server_yaml('other', ['/nowhere'])}"
        "route_rules:\n  - {id: other, server_id: other, effect: allow}\n"
        "  - {id: no, tool_pattern: '*list_notes', effect: deny}\n"
    )
    values = values_of("--", *SAMPLE, data=tmp_path / "data", config=tmp_path / "il.yaml")
    async with at_target(values) as site:
        denied = await site.bench.call("list_notes", {})
    assert denied.refusal is not None
    assert denied.refusal.code is Code.DENIED_BY_RULE
    assert denied.activity


async def test_an_error_of_the_work_comes_out_as_itself(tmp_path: Path) -> None:
    reason = errors.FORBIDDEN(role="admin")
    with pytest.raises(InterlockError) as failed:
        async with at_target(values_of("--", *SAMPLE, data=tmp_path / "data")):
            raise InterlockError(reason)
    assert failed.value.reason == reason
    assert list((tmp_path / "data" / "lab").iterdir()) == []


def test_behind_the_dashes_a_single_word_is_a_program() -> None:
    assert wanted(["cat"], is_command=True) == Wanted(argv=("cat",))
    assert wanted(["cat"]) == Wanted(server="cat")
    assert wanted(["https://h/mcp"], is_command=True) == Wanted(url="https://h/mcp")


def test_only_http_leads_to_a_server_elsewhere() -> None:
    with pytest.raises(InterlockError, match="ftp is no way to an MCP server"):
        wanted(["ftp://h/x"])
