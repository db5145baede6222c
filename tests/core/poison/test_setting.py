"""What is known of a tool when its texts are read."""

from interlock.core.poison.setting import inside, setting_of
from interlock.core.poison.texts import Text


def test_the_names_of_a_tool_and_of_its_parameters_are_its_own() -> None:
    tool = setting_of({"name": "rotate_key", "inputSchema": {"properties": {"Key_Id": {}}}})

    assert tool.own_names == {"rotate_key", "key_id"}
    assert tool.words == {"rotate", "key"}
    assert not tool.parameter


def test_a_text_of_a_parameter_adds_the_words_of_its_name() -> None:
    tool = setting_of({"name": "log_in"})
    text = inside(Text("/x", "The password.", "description", "password"), tool)

    assert "password" in text.words
    assert text.parameter
    assert text.topics > tool.topics
    assert inside(Text("/x", "Logs in.", "description"), tool) is tool


def test_strange_definitions_have_a_setting_too() -> None:
    assert setting_of({"name": 7, "inputSchema": []}).own_names == {""}
