"""Before anything is called it is settled what happens to each tool, and why not where nothing does."""

import pytest
from msgspec.structs import replace

from interlock.core.safety import ExecClass, LabPolicy, SafetyClass
from interlock.errors import Code
from interlock.lab.model import LabTool
from interlock.lab.plan import Decision, plan
from tests.lab.bench import lab_tools, named

READ_ONLY, PRESUMED, MUTATING, DESTRUCTIVE = ExecClass
EXECUTE, ONCE, GENERATE, REFUSE = Decision
USUAL, STRICT = LabPolicy(), LabPolicy(strict=True)
BOLD, BOLD_STRICT = LabPolicy(execute_destructive=True), LabPolicy(execute_destructive=True, strict=True)

TABLE = [
    # class, policy, with a live call, without one
    (READ_ONLY, USUAL, EXECUTE, EXECUTE),
    (READ_ONLY, STRICT, EXECUTE, EXECUTE),
    (READ_ONLY, BOLD, EXECUTE, EXECUTE),
    (READ_ONLY, BOLD_STRICT, EXECUTE, EXECUTE),
    (PRESUMED, USUAL, EXECUTE, EXECUTE),
    (PRESUMED, STRICT, REFUSE, GENERATE),
    (PRESUMED, BOLD, EXECUTE, EXECUTE),
    (PRESUMED, BOLD_STRICT, REFUSE, GENERATE),
    (MUTATING, USUAL, ONCE, ONCE),
    (MUTATING, STRICT, ONCE, ONCE),
    (MUTATING, BOLD, ONCE, ONCE),
    (MUTATING, BOLD_STRICT, ONCE, ONCE),
    (DESTRUCTIVE, USUAL, REFUSE, GENERATE),
    (DESTRUCTIVE, STRICT, REFUSE, GENERATE),
    (DESTRUCTIVE, BOLD, ONCE, ONCE),
    (DESTRUCTIVE, BOLD_STRICT, ONCE, ONCE),
]


@pytest.mark.parametrize(("exec_class", "policy", "live", "written"), TABLE)
def test_a_class_and_a_policy_give_one_decision(
    exec_class: ExecClass, policy: LabPolicy, live: Decision, written: Decision
) -> None:
    tool = LabTool("it", {}, exec_class, SafetyClass.UNKNOWN)
    assert [each.decision for each in plan([tool], policy, live=True)] == [live]
    assert [each.decision for each in plan([tool], policy, live=False)] == [written]


def test_what_is_not_called_has_a_typed_reason_with_a_way_out_and_the_rest_has_none() -> None:
    refused, called = plan(named("delete_record", "search_records"), USUAL, live=True)
    assert refused.reason is not None
    assert refused.reason.code is Code.DENIED_BY_RULE
    assert "delete_record" in refused.reason.text
    assert "--execute-destructive" in refused.reason.fix
    assert called.reason is None


def test_presumed_tools_that_the_gateway_would_hold_are_pointed_out_and_no_others() -> None:
    tools = lab_tools(
        {"name": "frobnicate"},
        {"name": "list_things"},
        {"name": "launch_rocket", "annotations": {"readOnlyHint": True}},
        {"name": "delete_record"},
    )
    assert [each.presumed_but_held for each in plan(tools, USUAL, live=True)] == [True, False, False, False]


def test_a_plan_has_every_tool_in_the_order_of_the_listing() -> None:
    planned = plan(named("set_it", "get_it", "drop_it"), USUAL, live=True)
    assert [each.tool.name for each in planned] == ["set_it", "get_it", "drop_it"]


@pytest.mark.parametrize(("support", "decision"), [("required", REFUSE), ("optional", EXECUTE), ("forbidden", EXECUTE)])
def test_what_can_only_be_called_as_a_task_is_not_called(support: str, decision: Decision) -> None:
    tools = lab_tools({"name": "get_it", "execution": {"taskSupport": support}})
    (planned,) = plan(tools, BOLD, live=True)
    assert planned.decision is decision
    assert (planned.reason is not None) == (decision is REFUSE)
    assert planned.reason is None or "only be called as a task" in planned.reason.text


@pytest.mark.parametrize("execution", [None, "required", {"taskSupport": True}, []])
def test_what_says_nothing_of_tasks_that_can_be_read_is_called(execution: object) -> None:
    (planned,) = plan(lab_tools({"name": "get_it", "execution": execution}), USUAL, live=True)
    assert planned.decision is EXECUTE


def test_what_is_listed_twice_is_called_only_if_both_are_the_same() -> None:
    (tool,) = named("get_it")
    same, other = replace(tool, others=(tool.descriptor,)), replace(tool, others=({"name": "get_it", "x": 1},))
    planned = plan([same, other], USUAL, live=True)
    assert [each.decision for each in planned] == [EXECUTE, REFUSE]
    assert planned[1].reason is not None
    assert planned[1].reason.code is Code.QUARANTINED
