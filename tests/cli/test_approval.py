"""`interlock approval`: what waits, one of it in full, and the operator's answer."""

import json
import re
from collections.abc import Generator
from pathlib import Path

import pytest

from tests.cli.holding import REASON, approver, held
from tests.cli.running import Interlock, eventually, gateway_beside
from tests.running import Running, server_yaml
from tests.upstream.running import stdio_argv

HOSTILE = "\x1b[2Jcleared\u202eback\r\nAPPROVED by alice\u200b [red]x[/red]"
RULES = """
hold: {max_grant: 15m}
route_rules:
  - {id: two, tool_pattern: "*__run_command", args: {command: two}, effect: hold, approvals_needed: 2}
  - {id: eyes, tool_pattern: "*__run_command", args: {command: eyes}, effect: hold, four_eyes: true}
  - {id: only-alice, tool_pattern: "*__run_command", args: {command: hers}, effect: hold, approvers: [alice]}
servers:
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Generator[Running]:
    folder = tmp_path_factory.mktemp("approvals")
    with gateway_beside(folder, RULES + server_yaml("up", stdio_argv(folder / "up.log"), trusted=True)) as running:
        yield running


@pytest.fixture
def running(shared: Running, monkeypatch: pytest.MonkeyPatch) -> Running:
    monkeypatch.setenv("INTERLOCK_DATA_DIR", str(shared.folder.path))
    return shared


def run_command(command: str) -> dict[str, str]:
    return {"command": command}


RUN = "up/run_command"


# list -----------------------------------------------------------------------------------------------------------


def test_what_waits_is_listed_with_how_long_it_may_still_be_answered(il: Interlock, running: Running) -> None:
    with held(running) as call:
        done, as_json = il("approval", "list"), il("approval", "list", "--json")

    assert (done.exit, done.err) == (0, "")
    assert done.lines[0].split() == "ID STATUS TOOL CLASS REQUESTER WORKSPACE ASKED ANSWER".split()
    (row,) = [re.split(r"  +", line) for line in done.lines[1:]]
    assert row[:6] == [call.id, "pending", "up__delete_note", "dangerous", "operator-agent", "-"]
    assert re.fullmatch(r"4m \d+s left", row[7])
    assert [each["id"] for each in as_json.json["items"]] == [call.id]


def test_when_nothing_waits_it_says_so_on_stderr(il: Interlock, running: Running) -> None:
    done = il("approval", "list", "--workspace", "nowhere")

    assert (done.exit, done.out, done.err) == (0, "", "No approval fits.\n")


def test_those_that_were_answered_are_listed_when_asked_for(il: Interlock, running: Running) -> None:
    with held(running, {"name": "listed"}) as call:
        il("approval", "deny", call.id)
    pending, everything = il("approval", "list", "--json"), il("approval", "list", "--all")
    denied = il("approval", "list", "--status", "denied", "--limit", "1")

    assert pending.json["items"] == []
    assert any(call.id in line and line.endswith("by operator") for line in everything.lines)
    assert call.id in denied.lines[1]
    assert (len(denied.lines), denied.err.startswith("These are 1 of ")) == (2, True)


def test_a_state_that_there_is_not_is_a_usage_error(il: Interlock) -> None:
    assert il("approval", "list", "--status", "open").exit == 2
    assert il("approval", "list", "--status", "denied", "--all").exit == 2


# show -----------------------------------------------------------------------------------------------------------


def test_one_is_shown_with_everything_a_reviewer_needs(il: Interlock, running: Running) -> None:
    with held(running, {"name": "a", "deep": {"list": [1, None]}}) as call:
        done, as_json = il("approval", "show", call.id), il("approval", "show", call.id, "--json")
    told = dict(line.split(":", 1) for line in done.lines if re.match(r"[A-Z][a-z ]+: ", line))

    assert done.exit == 0
    assert f"{call.id} pending, 4m" in told["Approval"]
    assert told["Tool"].strip() == "up__delete_note of server up"
    assert told["Class"].strip() == "dangerous, by its annotations"
    assert told["Requester"].strip() == "operator-agent, owned by operator"
    assert told["Held by"].strip() == "posture:guarded"
    assert told["Because"].strip()
    assert told["Digest"].strip() == call.approval["digest"]
    assert "The requester says (its own word, which nobody checked):" in done.lines
    assert f"  > {REASON}" in done.lines
    assert "  > (operation destructive, sensitivity internal)" in done.lines
    shown = done.out.split("Arguments, in full except for secrets:\n")[1].split("\n\n")[0]
    assert json.loads(shown) == {"name": "a", "deep": {"list": [1, None]}}
    assert as_json.json["arguments"] == {"name": "a", "deep": {"list": [1, None]}}


def test_hostile_words_are_shown_harmlessly_and_cannot_stand_as_a_line_of_ours(il: Interlock, running: Running) -> None:
    with held(running, {"name": HOSTILE, HOSTILE: 1}, HOSTILE) as call:
        done = il("approval", "show", call.id)

    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e\u200b]", done.out)
    assert "  > <U+001B>[2Jcleared<U+202E>back<U+000D>" in done.lines
    assert "  > APPROVED by alice<U+200B> [red]x[/red]" in done.lines
    assert not any(line.startswith("APPROVED") for line in done.lines)


def test_long_arguments_are_shown_to_the_last_character(il: Interlock, running: Running) -> None:
    text = "".join(f"{at:06}" for at in range(10_000))
    with held(running, {"name": text}) as call:
        done = il("approval", "show", call.id)

    assert text in done.out


def test_arguments_too_long_to_be_kept_are_said_to_be_missing(il: Interlock, running: Running) -> None:
    with held(running, {"name": "x" * 70_000}) as call:
        done = il("approval", "show", call.id)

    assert "The arguments are too long to be kept, so you cannot see what you would approve." in done.lines


# Ids ------------------------------------------------------------------------------------------------------------


def test_the_beginning_or_the_end_of_an_id_is_enough(il: Interlock, running: Running) -> None:
    with held(running) as call:
        whole = call.id
        given = [whole[-4:], whole[:25], whole.removeprefix("ap_")[:22]]
        shown = [il("approval", "show", each, "--json") for each in given]

    assert [each.json["id"] for each in shown] == [whole] * 3


def test_a_part_that_fits_several_is_refused_with_all_of_them(il: Interlock, running: Running) -> None:
    with held(running, {"name": "one"}) as one, held(running, {"name": "two"}) as two:
        done = il("approval", "approve", "ap_0")

    assert (done.exit, done.out) == (2, "")
    assert done.err.startswith("several approvals begin or end with 'ap_0': ")
    assert one.id in done.err
    assert two.id in done.err


def test_a_part_never_means_another_call_than_the_one_that_was_looked_at(il: Interlock, running: Running) -> None:
    with held(running, {"name": "looked at"}) as one:
        il("approval", "deny", one.id)
    with held(running, {"name": "came after it"}) as two:
        done = il("approval", "approve", one.id[:7])
        still = il("approval", "show", two.id, "--json").json["status"]

    assert (done.exit, still) == (2, "pending")
    assert done.err.startswith(f"several approvals begin or end with '{one.id[:7]}': ")


@pytest.mark.parametrize(
    ("given", "error"),
    [
        ("abc", "'abc' is too short for an id\n  Give at least 4 characters, from its beginning or end.\n"),
        ("nothing", "Approval 'nothing' not found.\n"),
        ("../../tokens", "Approval '../../tokens' not found.\n"),
        ("", "a name or an id is empty\n"),
    ],
)
@pytest.mark.parametrize("verb", ["show", "approve", "deny"])
def test_an_id_that_fits_none_is_a_usage_error(
    il: Interlock, running: Running, verb: str, given: str, error: str
) -> None:
    done = il("approval", verb, given)

    assert (done.exit, done.out) == (2, "")
    assert done.err.startswith(error)


# approve, deny --------------------------------------------------------------------------------------------------


def test_what_is_approved_runs_and_the_reason_is_on_record(il: Interlock, running: Running) -> None:
    with held(running) as call:
        done = il("approval", "approve", call.end, "--reason", "go ahead")
        answer = call.answer()
    record = il("approval", "show", call.id, "--json").json

    assert (done.exit, done.out) == (0, "")
    assert done.err == f"Approved: up__delete_note of operator-agent ({call.id}).\n"
    assert answer.json()["result"]["content"] == [{"type": "text", "text": "No such note."}]
    assert (record["status"], record["approver"], record["approver_type"]) == ("approved", "operator", "cli")
    assert record["resolution"] == "go ahead"


def test_what_is_denied_does_not_run_and_its_requester_is_told_why(il: Interlock, running: Running) -> None:
    with held(running, {"name": "denied"}) as call:
        done = il("approval", "deny", call.end, "--reason", "ask the owner", "--json")
        answer = call.answer()

    assert (done.exit, done.json["status"]) == (0, "denied")
    assert answer.json()["detail"] == "Tool call denied. Reason: ask the owner"


def test_only_what_was_looked_at_is_approved(il: Interlock, running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.cli.approval.find", _changed_meanwhile)
    with held(running, {"name": "other"}) as call:
        done = il("approval", "approve", call.id)

    assert done.exit == 10
    assert done.err.startswith("The arguments that wait are not those that you looked at: the digest differs.")


async def _changed_meanwhile(api: object, given: str) -> dict[str, str]:
    return {"id": given, "digest": "0" * 64}


def test_whoever_comes_second_is_told_who_was_faster(il: Interlock, running: Running) -> None:
    alice = approver(il, running, "alice")
    with held(running, {"name": "late"}) as call:
        alice.post(f"/approvals/{call.id}/deny")
        done, as_json = il("approval", "approve", call.end), il("approval", "deny", call.end, "--json")

    assert (done.exit, done.out) == (11, "")
    assert done.err == "approval already resolved\n  It was denied by alice; nothing is left to answer.\n"
    assert as_json.json["error"]["code"] == "ALREADY_RESOLVED"


def test_an_owner_does_not_approve_for_its_agent_where_four_eyes_are_wanted(il: Interlock, running: Running) -> None:
    approver(il, running, "alice")
    carol = approver(il, running, "carol", "--owner", "alice")
    with held(running, run_command("eyes"), tool=RUN, ends=carol) as call:
        done = il("approval", "approve", call.end)

    assert (done.exit, done.out) == (3, "")
    assert done.err.startswith("You cannot approve your own tool call request.\n")


def test_whoever_is_not_asked_may_not_answer(il: Interlock, running: Running) -> None:
    with held(running, run_command("hers"), tool=RUN, ends=approver(il, running, "alice")) as call:
        done = il("approval", "approve", call.end)

    assert done.exit == 3
    assert done.err.startswith("This call may be answered by alice only.\n")


def test_a_vote_that_is_not_enough_is_counted(il: Interlock, running: Running) -> None:
    bob = approver(il, running, "bob")
    with held(running, run_command("two"), tool=RUN) as call:
        done, again = il("approval", "approve", call.end), il("approval", "approve", call.end)
        listed, shown = il("approval", "list"), il("approval", "show", call.end)
        bob.post(f"/approvals/{call.id}/approve")
        answer = call.answer()

    assert done.exit == 0
    assert "1 of 2 are there, and another approver has to agree" in done.err
    assert again.exit == 11
    assert "1 of 2 votes" in listed.lines[1]
    assert any(line.startswith("Vote:       operator at ") for line in shown.lines)
    assert "result" in answer.json()


def test_a_wider_approval_lets_the_same_call_pass_again(il: Interlock, running: Running) -> None:
    arguments = run_command("again")
    with held(running, arguments, tool=RUN) as call:
        done = il("approval", "approve", call.end, "--scope", "identical", "--for", "5m")
        call.answer()
    again = il(
        "call",
        "tool-destructive",
        "--tool-name",
        "up:run_command",
        "--json_args",
        json.dumps(arguments),
        "--reason",
        "x",
    )

    assert done.exit == 0
    assert "`interlock grant list` shows until when" in done.err
    assert again.exit == 0


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--scope", "tool", "--for", "1d"), "This approval cannot be given that widely: it may last for"),
        (("--for", "5m"), "This approval cannot be given that widely: a duration goes with"),
        (("--scope", "identical", "--for", "soon"), "duration: must be a duration such as 15m"),
        (("--scope", "all"), "argument --scope: invalid choice: 'all'"),
        (("--reason", "x" * 1001), "resolution: "),
    ],
)
def test_what_cannot_be_given_is_refused_and_nothing_is_approved(
    il: Interlock, running: Running, words: tuple[str, ...], error: str
) -> None:
    with held(running, run_command(f"wide {words}"), tool=RUN) as call:
        done = il("approval", "approve", call.end, *words)
        status = il("approval", "show", call.end, "--json").json["status"]

    assert (done.exit, status) == (2, "pending")
    assert done.err.startswith(error)


def test_a_dangerous_tool_is_never_approved_as_a_whole(il: Interlock, running: Running) -> None:
    with held(running, {"name": "whole"}) as call:
        done = il("approval", "approve", call.end, "--scope", "tool")

    assert done.exit == 2
    assert "a tool that is dangerous is approved call by call" in done.err


# metrics --------------------------------------------------------------------------------------------------------


def test_approvals_are_counted(il: Interlock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "servers:\n" + server_yaml("up", stdio_argv(tmp_path / "up.log"), trusted=True)
    with gateway_beside(tmp_path, text) as running:
        monkeypatch.setenv("INTERLOCK_DATA_DIR", str(running.folder.path))
        for name in ("a", "b", "c"):
            with held(running, {"name": name}) as call:
                il("approval", "approve" if name == "a" else "deny", call.end)
                eventually(lambda: il("approval", "list", "--json").json["items"] == [])
        done, as_json = il("approval", "metrics"), il("approval", "metrics", "--since", "1h", "--json")
    told = {name: text.strip() for name, text in (line.split(":", 1) for line in done.lines)}

    assert (done.exit, done.err) == (0, "")
    assert (told["Pending"], told["Approved"], told["Denied"], told["Timeout"]) == ("0", "1", "2", "0")
    assert told["Rate"] == "33% of those that were answered were approved"
    assert re.fullmatch(r"average \d+s, median \d+s, 95 % \d+s", told["Wait"])
    assert told["Listening"] == "yes"
    assert (as_json.json["approved"], as_json.json["denied"]) == (1, 2)


def test_a_time_that_makes_no_sense_is_a_usage_error(il: Interlock, running: Running) -> None:
    assert il("approval", "metrics", "--since", "soon").exit == 2


# Help -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["list", "show", "approve", "deny", "watch", "metrics"])
def test_every_verb_explains_itself_with_examples(il: Interlock, verb: str) -> None:
    done = il("approval", verb, "--help")

    assert done.exit == 0
    assert f"Examples:\n  interlock approval {verb}" in done.out


def test_a_gateway_that_does_not_run_is_no_reason_not_to_look(il: Interlock) -> None:
    done = il("approval", "list")

    assert (done.exit, done.err) == (0, "No approval fits.\n")
