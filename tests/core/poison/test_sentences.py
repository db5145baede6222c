"""Which sentences of a definition are read."""

from interlock.core.model import Json
from interlock.core.poison.prose import MOST_SENTENCES
from interlock.core.poison.sentences import sentences_of
from interlock.core.poison.setting import setting_of
from interlock.core.poison.texts import Walk


def read(tool: dict[str, Json]) -> list[tuple[str, str]]:
    return [(each.where, each.sentence) for each in sentences_of(Walk().texts(tool), setting_of(tool))]


def test_everything_that_is_said_is_read_and_what_is_for_machines_is_not() -> None:
    schema: Json = {"type": "object", "properties": {"x": {"type": "string", "description": "Its place."}}}

    assert read({"name": "find_it", "description": "Finds It. Tells where!", "inputSchema": schema}) == [
        ("/description", "finds it."),
        ("/description", "tells where!"),
        ("/inputSchema/properties/x/description", "its place."),
    ]


def test_there_is_a_bound() -> None:
    assert len(read({"name": "t", "description": "And on. " * (2 * MOST_SENTENCES), "title": "And more."})) == (
        MOST_SENTENCES
    )
