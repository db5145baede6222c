"""A probe keeps to the plan, goes on after a tool that breaks the server, and can be ended at any point."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from interlock import errors
from interlock.errors import InterlockError, Reason
from interlock.lab.model import LabTool, Observed
from interlock.lab.plan import plan
from interlock.lab.probing.probe import MOST_EDGES, MOST_TOLD, Probe, attempts_for
from interlock.lab.run import Knobs
from interlock.lab.values.examples import TOO_MUCH, Example, Examples
from interlock.lab.worker import Worker
from tests.lab.bench import TestBench, lab_tools

NAMED: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 2}},
    "required": ["name"],
    "additionalProperties": False,
}
READS, WRITES = {"readOnlyHint": True}, {"idempotentHint": False}
LOST = errors.UPSTREAM_LOST(server="bench", problem="it ended")
HUNG = errors.UPSTREAM_TIMEOUT(server="bench", seconds=1)


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "inputSchema": NAMED, **more}


class Bench(TestBench):
    """A server whose tools answer by a function, which may also refuse."""

    def __init__(self, *tools: LabTool, refusing: Callable[[str, dict[str, Any]], Reason | None]) -> None:
        super().__init__(*tools)
        self.refusing = refusing
        self.mended: list[bool] = []
        self.comes_back = True
        self.unchecked: list[bool] = []
        self.printed = 0

    async def call(self, tool: str, arguments: dict[str, Any], *, unchecked: bool = False) -> Observed:
        self.unchecked.append(unchecked)
        observed = await super().call(tool, arguments, unchecked=unchecked)
        refusal = self.refusing(tool, arguments)
        return observed if refusal is None else Observed(tool, arguments, 1.0, refusal=refusal)

    async def stray(self) -> int:
        return self.printed

    async def recovered(self, *, hung: bool = False) -> bool:
        self.mended.append(hung)
        return self.comes_back


def never(tool: str, arguments: dict[str, Any]) -> Reason | None:
    return None


def probe_of(bench: Bench, knobs: Knobs, tools: list[LabTool]) -> Probe:
    worker = Worker(bench, plan(tools, knobs.policy, live=True), knobs)
    return Probe(worker, bench, concurrency=knobs.concurrency)


async def probed(
    *descriptors: dict[str, Any],
    refusing: Callable[[str, dict[str, Any]], Reason | None] = never,
    knobs: Knobs | None = None,
) -> tuple[Probe, Bench]:
    tools = lab_tools(*descriptors)
    bench = Bench(*tools, refusing=refusing)
    probe = probe_of(bench, knobs or Knobs(), tools)
    await probe.run()
    return probe, bench


def counts(bench: Bench) -> dict[str, int]:
    names = [name for name, _ in bench.received]
    return {name: names.count(name) for name in dict.fromkeys(names)}


async def test_what_reads_is_tried_in_every_way_what_writes_once_what_destroys_never() -> None:
    probe, bench = await probed(tool("delete_it"), tool("set_it"), tool("get_it"), tool("look_it", annotations=READS))
    kinds = {name: [each.kind for each in probe.calls if each.tool == name] for name in counts(bench)}
    assert kinds["set_it"] == ["valid"]
    assert "delete_it" not in kinds
    assert kinds["get_it"][:2] == ["valid", "again"]
    assert {"boundary", "invalid"} <= set(kinds["get_it"])
    assert probe.ended == "complete"


async def test_the_declared_come_first_and_what_writes_comes_last() -> None:
    _, bench = await probed(tool("set_it"), tool("get_it"), tool("look_it", annotations=READS))
    assert list(counts(bench)) == ["look_it", "get_it", "set_it"]


async def test_with_the_flag_what_destroys_is_called_once_and_last() -> None:
    knobs = Knobs(execute_destructive=True)
    _, bench = await probed(tool("delete_it"), tool("set_it"), knobs=knobs)
    assert [name for name, _ in bench.received] == ["set_it", "delete_it"]


async def test_only_what_must_not_fit_is_sent_unchecked() -> None:
    probe, bench = await probed(tool("get_it"))
    assert bench.unchecked == [each.kind == "invalid" for each in probe.calls]


@pytest.mark.parametrize(("reason", "code", "hung"), [(LOST, "crash", False), (HUNG, "hang", True)])
async def test_a_tool_that_breaks_the_server_is_not_called_again_and_the_others_are(
    reason: Reason, code: str, hung: bool
) -> None:
    probe, bench = await probed(
        tool("get_bad"), tool("get_good"), refusing=lambda name, given: reason if name == "get_bad" else None
    )
    assert counts(bench)["get_bad"] == 1
    assert counts(bench)["get_good"] > 2
    assert code in [each.code for each in probe.findings if each.tool == "get_bad"]
    assert bench.mended == [hung]


async def test_lines_that_came_while_a_call_hung_are_part_of_the_evidence() -> None:
    tools = lab_tools(tool("get_good"), tool("get_bad"))

    def hangs(name: str, given: dict[str, Any]) -> Reason | None:
        bench.printed += 2
        return HUNG if name == "get_bad" else None

    bench = Bench(*tools, refusing=hangs)
    probe = probe_of(bench, Knobs(), tools)
    await probe.run()
    (hang,) = (each for each in probe.findings if each.code == "hang")
    (stray,) = (each for each in probe.findings if each.code == "stray-output")
    assert hang.evidence["stray_lines"] == "2 meanwhile, on its stdout"
    assert (stray.tool, stray.evidence) == (None, {"lines": str(bench.printed)})


async def test_a_gateway_that_went_away_leaves_what_was_found() -> None:
    class Gone(Bench):
        async def stray(self) -> int:
            if self.received:
                raise InterlockError(LOST)
            return 0

    tools = lab_tools(tool("get_it"), tool("see_it"))
    probe = probe_of(Gone(*tools, refusing=never), Knobs(), tools)
    await probe.run()
    assert (probe.ended, probe.stopped) == ("interrupted", LOST)
    assert probe.calls


async def test_a_server_of_which_nothing_works_is_told_of_and_one_good_answer_is_enough() -> None:
    names = ("get_a", "get_b", "get_c")
    tools = lab_tools(*(tool(name, annotations=READS) for name in names))
    told: list[bool] = []
    for working in ("", "get_c"):
        bench = Bench(*tools, refusing=lambda name, given, working=working: None if name == working else LOST)
        probe = probe_of(bench, Knobs(), tools)
        await probe.run()
        told.append("nothing-works" in [each.code for each in probe.findings])
    assert told == [True, False]


async def test_a_server_that_does_not_come_back_ends_the_run_with_what_was_found() -> None:
    tools = lab_tools(tool("get_bad"), tool("get_good"))
    bench = Bench(*tools, refusing=lambda name, given: LOST)
    bench.comes_back = False
    probe = probe_of(bench, Knobs(), tools)
    await probe.run()
    assert list(counts(bench)) == ["get_bad"]
    assert "did not come back" in probe.notes[0]
    assert "crash" in [each.code for each in probe.findings]
    assert probe.ended == "interrupted"


async def test_what_a_rule_refuses_is_not_asked_for_again_and_is_no_finding() -> None:
    denied = errors.DENIED_BY_RULE(tool="get_it")
    probe, bench = await probed(
        tool("get_it"), tool("see_it"), refusing=lambda name, _: denied if "get" in name else None
    )
    assert counts(bench)["get_it"] == 1
    assert denied.text in probe.notes[0]
    assert not {"crash", "hang", "error-on-valid"} & {each.code for each in probe.findings if each.tool == "get_it"}
    assert bench.mended == []


async def test_a_freeze_ends_the_run() -> None:
    frozen = errors.FROZEN(what="a test")
    probe, bench = await probed(tool("get_it"), tool("see_it"), refusing=lambda name, given: frozen)
    assert len(bench.received) == 1
    assert (probe.ended, probe.notes, probe.stopped) == ("interrupted", [frozen.text], frozen)


async def test_an_empty_budget_ends_the_run_with_what_was_found() -> None:
    probe, bench = await probed(tool("get_it"), tool("see_it"), knobs=Knobs(max_calls=3, concurrency=4))
    assert (len(bench.received), probe.ended, len(probe.calls)) == (3, "budget", 3)


async def test_a_budget_of_as_many_calls_as_tools_touches_each_of_them_once() -> None:
    tools = [tool("set_it"), tool("get_it"), tool("look_it", annotations=READS), tool("see_it")]
    probe, bench = await probed(*tools, knobs=Knobs(max_calls=4))
    assert counts(bench) == {"look_it": 1, "get_it": 1, "see_it": 1, "set_it": 1}
    assert {each.kind for each in probe.calls} == {"valid"}
    assert probe.ended == "budget"


async def test_the_tools_that_a_budget_cut_short_are_named_and_the_others_are_not() -> None:
    probe, bench = await probed(tool("get_it"), tool("see_it"), tool("set_it"), knobs=Knobs(max_calls=6))
    (told,) = probe.notes
    assert counts(bench) == {"get_it": 3, "see_it": 2, "set_it": 1}
    assert "get_it (3 of " in told
    assert "see_it (2 of " in told
    assert "set_it" not in told


async def test_the_budget_that_a_broken_tool_leaves_goes_to_the_others() -> None:
    probe, bench = await probed(
        tool("get_bad"),
        tool("get_good"),
        refusing=lambda name, _: LOST if "bad" in name else None,
        knobs=Knobs(max_calls=4),
    )
    assert counts(bench) == {"get_bad": 1, "get_good": 3}
    assert "get_bad (" not in " ".join(probe.notes)


async def test_of_many_tools_that_were_cut_short_some_are_named_and_the_rest_counted() -> None:
    tools = [tool(f"get_{number}") for number in range(MOST_TOLD + 3)]
    probe, _ = await probed(*tools, knobs=Knobs(max_calls=2))
    assert probe.notes[-1].endswith("and 3 more.")


async def test_a_small_budget_goes_to_the_tools_and_not_to_looking_for_changes() -> None:
    listing = {"name": "list_held", "inputSchema": {"type": "object"}, "annotations": READS}
    probe, bench = await probed(listing, tool("get_it"), knobs=Knobs(max_calls=2))
    assert counts(bench) == {"list_held": 1, "get_it": 1}
    assert "change anything" in probe.notes[0]


async def test_a_budget_that_is_large_enough_changes_nothing() -> None:
    listing = {"name": "list_held", "inputSchema": {"type": "object"}, "annotations": READS}
    _, without = await probed(listing, tool("get_it"))
    probe, within = await probed(listing, tool("get_it"), knobs=Knobs(max_calls=500))
    assert counts(within) == counts(without)
    assert (probe.ended, probe.notes) == ("complete", [])


async def test_a_schema_that_nothing_fits_is_told_and_its_tool_is_not_called() -> None:
    probe, bench = await probed({"name": "get_it", "inputSchema": {"type": "object", "not": {}}})
    assert bench.received == []
    assert "no-arguments" in [each.code for each in probe.findings]


async def test_a_schema_that_would_take_for_ever_is_told_and_the_other_tools_are_tried() -> None:
    level: dict[str, Any] = {"type": "object", "required": ["a"]}
    steps = {
        f"d{at}": {**level, "properties": {"a": {"allOf": [{"$ref": f"#/$defs/d{at + 1}"}] * 8}}} for at in range(10)
    }
    bomb = {**level, "properties": {"a": {"$ref": "#/$defs/d0"}}, "$defs": {**steps, "d10": {"type": "integer"}}}

    probe, bench = await probed({"name": "get_bomb", "inputSchema": bomb}, tool("get_it"))

    told = [each.evidence["problem"] for each in probe.findings if each.code == "no-arguments"]
    assert told == [TOO_MUCH]
    assert list(counts(bench)) == ["get_it"]
    assert probe.ended == "complete"


async def test_a_tool_that_says_it_reads_and_changes_what_is_held_is_found_out() -> None:
    held = ["one"]

    def answering(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
        if name == "look_in":
            held.append("more")
        return {"content": [{"type": "text", "text": " ".join(held) if name == "list_held" else "fine"}]}

    plain = {"type": "object"}
    tools = lab_tools(
        {"name": "list_held", "inputSchema": plain, "annotations": READS},
        tool("look_in", annotations=READS),
        tool("look_out", annotations=READS),
    )
    bench = Bench(*tools, refusing=never)
    bench._answering = answering  # pyright: ignore[reportPrivateUsage]
    probe = probe_of(bench, Knobs(), tools)
    await probe.run()
    assert [each.tool for each in probe.findings if each.code == "annotation-lie"] == ["look_in"]


async def test_a_run_that_is_cancelled_has_what_it_found_so_far() -> None:
    reached, tools = asyncio.Event(), lab_tools(tool("get_it"), tool("see_it"))

    class Stuck(Bench):
        async def call(self, tool: str, arguments: dict[str, Any], *, unchecked: bool = False) -> Observed:
            if tool == "see_it":
                reached.set()
                await asyncio.Event().wait()
            return await super().call(tool, arguments, unchecked=unchecked)

    probe = probe_of(Stuck(*tools, refusing=never), Knobs(), tools)
    async with asyncio.TaskGroup() as group:
        running = group.create_task(probe.run())
        await reached.wait()
        running.cancel()
    broken_off = [each.tool for each in probe.calls if each.outcome == "interrupted"]
    assert (probe.ended, {each.tool for each in probe.calls}) == ("interrupted", {"get_it", "see_it"})
    assert broken_off == ["see_it"], "it may have been sent, so it is told"
    assert "accepts-invalid" in [each.code for each in probe.findings]


async def test_progress_is_told_with_how_much_there_is() -> None:
    told: list[tuple[str, int, int]] = []
    tools = lab_tools(tool("get_it"))
    probe = probe_of(Bench(*tools, refusing=never), Knobs(), tools)
    probe.on_progress = lambda name, made, total: told.append((name, made, total))
    await probe.run()
    assert told[0][1] == 0
    assert {total for _, _, total in told} == {len(probe.calls)}


def test_of_many_edges_some_are_tried_from_all_over_them() -> None:
    (planned,) = plan(lab_tools({"name": "get_it"}), Knobs().policy, live=True)
    many = tuple(Example({"at": at}, "boundary") for at in range(100))
    made = Examples((Example({}, "valid"),), many, many)
    kept = [each.example.arguments["at"] for each in attempts_for(planned, made) if each.kind == "boundary"]
    assert len(kept) == MOST_EDGES
    assert max(kept) > 90
