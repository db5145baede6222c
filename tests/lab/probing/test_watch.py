"""What a server holds is seen through its own tools, and a change counts only if it is one."""

from collections.abc import Callable
from typing import Any

from interlock.core.safety import LabPolicy
from interlock.lab.model import LabTool, Observed
from interlock.lab.plan import plan
from interlock.lab.probing.watch import MOST, Watch
from interlock.lab.values.examples import examples
from tests.lab.bench import lab_tools

READS = {"readOnlyHint": True}
NEEDY = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}


def reading(*names: str, **more: Any) -> list[LabTool]:
    return lab_tools(*({"name": name, "annotations": READS, **more} for name in names))


class World:
    """Answers by a function, and counts who was asked."""

    def __init__(self, answering: Callable[[str], str | None]) -> None:
        self.answering: Callable[[str], str | None] = answering
        self.asked: list[str] = []

    async def look(self, tool: str, arguments: dict[str, Any]) -> Observed:
        self.asked.append(tool)
        said = self.answering(tool)
        result = {"content": [{"type": "text", "text": said or "no"}], "isError": said is None}
        return Observed(tool, arguments, 1.0, result=result)


async def begun(world: World, tools: list[LabTool]) -> Watch:
    watch = Watch(world.look)
    made = {each.name: examples(each.input_schema) for each in tools}
    await watch.begin(plan(tools, LabPolicy(), live=True), made)
    return watch


async def test_a_change_that_stays_is_told_with_what_was_seen() -> None:
    world = World(lambda tool: "one")
    watch = await begun(world, reading("list_held"))
    world.answering = lambda tool: "two"
    (changed,) = await watch.changed()
    assert (changed.tool, "one" in changed.before, "two" in changed.after) == ("list_held", True, True)
    assert await watch.changed() == []


async def test_without_a_change_nothing_is_told() -> None:
    watch = await begun(World(lambda tool: "one"), reading("list_held"))
    assert await watch.changed() == []


async def test_what_changes_by_itself_is_not_looked_at() -> None:
    numbers = iter(range(100))
    world = World(lambda tool: f"x{next(numbers)}")
    watch = await begun(world, reading("list_held"))
    before = len(world.asked)
    assert await watch.changed() == []
    assert len(world.asked) == before


async def test_what_begins_to_change_by_itself_is_not_looked_at_any_more() -> None:
    numbers = iter(range(100))
    world = World(lambda tool: "one")
    watch = await begun(world, reading("list_held"))
    world.answering = lambda tool: f"x{next(numbers)}"
    assert await watch.changed() == []
    before = len(world.asked)
    assert await watch.changed() == []
    assert len(world.asked) == before


async def test_times_and_ids_are_no_change() -> None:
    world = World(lambda tool: "at 2026-11-16T10:00:00Z")
    watch = await begun(world, reading("list_held"))
    world.answering = lambda tool: "at 2026-11-16T10:00:09Z"
    assert await watch.changed() == []


async def test_after_a_new_start_nothing_is_compared_to_what_was_before() -> None:
    world = World(lambda tool: "one")
    watch = await begun(world, reading("list_held"))
    world.answering = lambda tool: "two"
    watch.doubt()
    assert await watch.changed() == []
    world.answering = lambda tool: "three"
    assert len(await watch.changed()) == 1


async def test_what_answers_with_an_error_is_not_looked_at() -> None:
    world = World(lambda tool: None)
    await begun(world, reading("list_held"))
    assert len(world.asked) == 1, "one that gave no answer may have hung, and is not asked again"


async def test_only_tools_that_read_and_need_nothing_are_looked_through_lists_first_and_only_a_few() -> None:
    tools = [
        *reading("get_a", "get_b", "get_c", "list_d", "search_e"),
        *reading("get_needy", inputSchema=NEEDY),
        *lab_tools({"name": "create_x"}, {"name": "delete_x"}, {"name": "frobnicate"}),
    ]
    world = World(lambda tool: "one")
    await begun(world, tools)
    assert list(dict.fromkeys(world.asked)) == ["list_d", "search_e", "get_a"]
    assert len(set(world.asked)) == MOST


async def test_nothing_is_looked_at_where_nobody_claims_to_only_read() -> None:
    world = World(lambda tool: "one")
    await begun(world, lab_tools({"name": "list_held"}))
    assert world.asked == []
