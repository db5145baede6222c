"""Questions of the gateway keep apart what belongs to different gateways."""

import json
from typing import Any

from interlock.receive.questions import Questions


def asked(questions: Questions, **members: Any) -> tuple[dict[str, Any], bool]:
    shown, is_answer = questions.shown(json.dumps({"jsonrpc": "2.0", **members}).encode())
    return json.loads(shown), is_answer


def answered(questions: Questions, own: Any) -> Any:
    answer = questions.answered(json.dumps({"jsonrpc": "2.0", "id": own, "result": {"ok": 1.50}}).encode(), own)
    return None if answer is None else json.loads(answer)


def test_answers_and_notifications_pass_unchanged() -> None:
    questions = Questions()
    passed: list[tuple[dict[str, Any], bool]] = [
        ({"id": 1, "result": {}}, True),
        ({"id": None, "error": {"code": 1, "message": "x"}}, True),
        ({"method": "notifications/progress", "params": {"progress": 1}}, False),
    ]
    for members, is_answer in passed:
        assert asked(questions, **members) == ({"jsonrpc": "2.0", **members}, is_answer)


def test_a_question_gets_an_id_of_ours_and_its_answer_the_id_of_theirs() -> None:
    questions = Questions()
    question, is_answer = asked(questions, id=0, method="elicitation/create", params={"message": "Sure?"})

    assert not is_answer
    assert question["params"] == {"message": "Sure?"}
    assert question["id"] != 0
    assert answered(questions, question["id"]) == {"jsonrpc": "2.0", "id": 0, "result": {"ok": 1.5}}


def test_a_question_is_answered_once() -> None:
    questions = Questions()
    question, _ = asked(questions, id="a", method="ping")

    assert answered(questions, question["id"]) is not None
    assert answered(questions, question["id"]) is None


def test_an_answer_to_nothing_is_not_passed_on() -> None:
    questions = Questions()
    asked(questions, id=0, method="ping")

    assert [answered(questions, own) for own in (0, "0", "other")] == [None, None, None]


def test_a_late_answer_to_a_gateway_that_is_gone_is_never_taken_for_another() -> None:
    questions = Questions()
    before, _ = asked(questions, id=0, method="elicitation/create", params={"message": "Delete it?"})
    withdrawn = [json.loads(each) for each in questions.void()]
    after, _ = asked(questions, id=0, method="elicitation/create", params={"message": "Delete all?"})

    assert withdrawn == [{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": before["id"]}}]
    assert before["id"] != after["id"]
    assert answered(questions, before["id"]) is None
    assert answered(questions, after["id"])["id"] == 0


def test_a_question_that_the_gateway_withdraws_is_withdrawn_under_our_id() -> None:
    questions = Questions()
    question, _ = asked(questions, id=7, method="ping")
    params = {"requestId": 7, "reason": "too late"}
    withdrawn, is_answer = asked(questions, method="notifications/cancelled", params=params)

    assert not is_answer
    assert withdrawn["params"] == {"requestId": question["id"], "reason": "too late"}
    assert answered(questions, question["id"]) is None
