"""What waits, as a reviewer goes through it: nothing moves but by the reviewer's hand."""

from typing import Any

from interlock.cli.watching.follow import MOST, Happened, Waiting
from interlock.cli.watching.queue import Change, Queue
from tests.cli.approvals import approval, resolved


def waiting(*numbers: int, total: int | None = None) -> Waiting:
    return Waiting([approval(each) for each in numbers], len(numbers) if total is None else total)


def queue_of(*numbers: int) -> Queue:
    queue = Queue()
    queue.begin(waiting(*numbers))
    return queue


def happened(shown: dict[str, Any]) -> Happened:
    return Happened(f"approval.{shown['status']}", shown)


def ids(queue: Queue) -> list[str]:
    return [each["tool"] for each in queue.items]


def chosen(queue: Queue) -> str | None:
    return None if queue.chosen is None else queue.chosen["tool"]


def test_what_waits_stands_in_the_order_of_asking_and_the_first_is_chosen() -> None:
    queue = queue_of(3, 1, 2)

    assert (ids(queue), chosen(queue), queue.position) == (["tool_1", "tool_2", "tool_3"], "tool_1", 0)


def test_an_empty_queue_has_nothing_chosen_and_moving_does_nothing() -> None:
    queue = queue_of()
    queue.move(1)

    assert (queue.items, queue.chosen, queue.position, queue.total) == ([], None, 0, 0)


def test_what_arrives_is_added_and_what_is_chosen_stays() -> None:
    queue = queue_of(2)
    change = queue.take(happened(approval(1)))

    assert change is Change.ARRIVED
    assert (ids(queue), chosen(queue), queue.position, queue.total) == (["tool_1", "tool_2"], "tool_2", 1, 2)


def test_what_is_known_does_not_arrive_again() -> None:
    queue = queue_of(1)

    assert queue.take(happened(approval(1))) is Change.NOTHING
    assert queue.total == 1


def test_what_is_answered_elsewhere_leaves_the_queue() -> None:
    queue = queue_of(1, 2)

    assert queue.take(happened(resolved(2))) is Change.ENDED
    assert (ids(queue), queue.total) == (["tool_1"], 1)


def test_what_is_chosen_stays_after_it_was_answered_until_the_reviewer_moves_on() -> None:
    queue = queue_of(1, 2)
    queue.take(happened(resolved(1)))
    before = (chosen(queue), [each["status"] for each in queue.items])
    queue.move(1)

    assert before == ("tool_1", ["approved", "pending"])
    assert (chosen(queue), ids(queue)) == ("tool_2", ["tool_2"])


def test_what_was_answered_and_is_the_last_one_can_be_looked_at_on() -> None:
    queue = queue_of(1)
    queue.take(happened(resolved(1)))
    queue.move(1)

    assert (chosen(queue), queue.total) == ("tool_1", 0)


def test_an_answer_that_comes_twice_counts_once() -> None:
    queue = queue_of(1, 2)
    changes = [queue.take(happened(resolved(1))), queue.answered(resolved(1)), queue.take(happened(approval(1)))]

    assert changes == [Change.ENDED, Change.NOTHING, Change.NOTHING]
    assert queue.total == 1


def test_a_vote_is_taken_up() -> None:
    queue = queue_of(1)
    queue.take(happened(approval(1, votes=[{"approver": "alice"}])))

    assert queue.chosen is not None
    assert queue.chosen["votes"] == [{"approver": "alice"}]


def test_what_nobody_knew_and_does_not_wait_is_nothing() -> None:
    queue = queue_of(1)

    assert queue.take(happened(resolved(9))) is Change.NOTHING
    assert ids(queue) == ["tool_1"]


def test_moving_stops_at_both_ends() -> None:
    queue = queue_of(1, 2)
    queue.move(-1)
    first = chosen(queue)
    queue.move(5)

    assert (first, chosen(queue)) == ("tool_1", "tool_2")


def test_after_an_interruption_only_what_waits_is_left_and_what_is_chosen() -> None:
    queue = queue_of(1, 2, 3)
    arrived = queue.begin(waiting(3, 4))

    assert arrived
    assert (ids(queue), chosen(queue), queue.total) == (["tool_1", "tool_3", "tool_4"], "tool_1", 2)
    assert not queue.begin(waiting(3, 4))


def test_those_that_are_too_many_to_be_shown_are_counted() -> None:
    queue = Queue()
    queue.begin(waiting(1, 2, total=700))

    assert queue.unseen == 698


def test_what_comes_when_the_queue_is_full_is_only_counted_until_there_is_room() -> None:
    queue = Queue()
    queue.begin(waiting(*range(MOST)))
    change = queue.take(happened(approval(900)))
    full = (len(queue.items), queue.unseen, queue.wants_more)
    for number in range(1, MOST // 2 + 1):
        queue.take(happened(resolved(number)))

    assert change is Change.NOTHING
    assert full == (MOST, 1, False)
    assert queue.wants_more


def test_what_ends_without_having_been_shown_is_not_counted_any_more() -> None:
    queue = Queue()
    queue.begin(waiting(1, total=3))
    queue.take(happened(resolved(900)))
    queue.take(happened(resolved(901)))
    queue.take(happened(resolved(902)))

    assert (queue.total, queue.unseen) == (1, 0)
