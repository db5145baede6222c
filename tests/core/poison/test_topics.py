"""What a tool is about by its name is its own; the rest counts against it."""

from interlock.core.poison.topics import declared, kinds


def test_the_words_of_a_name_declare_topics() -> None:
    assert "ssh-files" in declared(["ssh", "connect"])
    assert declared(["add", "numbers"]) == frozenset()


def test_a_topic_of_its_own_is_told_apart() -> None:
    found = ["topic:ssh-files", "topic:cookies", "move"]

    assert kinds(found, frozenset({"ssh-files"})) == {"own-path", "secret"}
