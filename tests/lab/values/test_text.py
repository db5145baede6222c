"""Harmless texts."""

import jsonschema_rs
import pytest

from interlock.lab.values.text import FORMATS, fitted, texts

STRICT = "http://json-schema.org/draft-07/schema#"
NAMES = ("path", "url", "email", "query", "host", "id", "date", "timezone", "uuid", "command", "script", "")


@pytest.mark.parametrize("form", FORMATS)
def test_a_text_of_a_format_is_of_that_format_at_every_turn(form: str) -> None:
    check = jsonschema_rs.validator_for({"format": form}, validate_formats=True)

    assert all(check.is_valid(FORMATS[form](turn)) for turn in range(1_200))


@pytest.mark.parametrize("name", NAMES)
def test_no_text_of_a_name_leads_anywhere_or_would_run(name: str) -> None:
    for text in (each for turn in (0, 1, 999) for each in texts(name, None, turn)):
        bare = text.removeprefix("https://example.invalid/")
        assert not set(bare) & set("/\\;|&$`<>(){}*?~!'\"\n")
        assert ".." not in bare


def test_a_name_with_two_meanings_takes_the_first_row() -> None:
    assert next(texts("emailFile", None, 0)) == "probe@example.invalid"


@pytest.mark.parametrize(
    ("shortest", "longest", "text"), [(0, None, "probe 7"), (0, 3, "e 7"), (9, None, "probe 7xx"), (0, 0, "")]
)
def test_a_text_is_cut_at_its_start_and_stretched_at_its_end(shortest: int, longest: int | None, text: str) -> None:
    assert fitted("probe 7", shortest, longest) == text
