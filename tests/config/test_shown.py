"""The settings as they are shown: every value, where it came from, and no secret."""

from pathlib import Path

from interlock.config.load import GIVEN, Config, load, with_listen
from interlock.config.shown import effective, leaves
from interlock.core.model import Json

FILE = """
posture: strict
servers:
  a: {command: run, args: [--token, hunter2hunter2], env: {KEY: "${env:KEY}", PLAIN: hunter2hunter2}}
notices: {webhooks: [{url: "https://hooks.example/a", secret: whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw}]}
"""


def loaded(folder: Path, **environ: str) -> Config:
    file = folder / "interlock.yaml"
    file.write_text(FILE, encoding="utf-8")
    return load(str(file), environ)


def by_setting(config: Config) -> dict[Json, tuple[Json, Json]]:
    rows = [each for each in effective(config) if isinstance(each, dict)]
    return {each["setting"]: (each["value"], each["from"]) for each in rows}


def test_each_value_says_whether_file_environment_or_default_gave_it(tmp_path: Path) -> None:
    found = by_setting(loaded(tmp_path, INTERLOCK_EXPOSE="both"))

    assert found["posture"] == ("strict", f"{tmp_path / 'interlock.yaml'}:2:10")
    assert found["expose"] == ("both", "environment INTERLOCK_EXPOSE")
    assert found["hold.answer_after"] == ("50s", "default")


def test_what_was_given_at_the_start_is_said_to_be(tmp_path: Path) -> None:
    found = by_setting(with_listen(loaded(tmp_path), None, 7999))

    assert found["listen.port"] == (7999, GIVEN)
    assert found["listen.host"] == ("127.0.0.1", "default")


def test_a_secret_is_shown_only_as_a_reference(tmp_path: Path) -> None:
    found = by_setting(loaded(tmp_path))

    assert found["servers.a.env.KEY"][0] == "${env:KEY}"
    assert found["servers.a.env.PLAIN"][0] == "[redacted]"
    assert found["servers.a.args[1]"][0] == "[redacted]"
    assert found["notices.webhooks[0].secret"][0] == "[redacted]"
    assert "hunter2" not in repr(found)
    assert "MfKQ" not in repr(found)


def test_an_empty_mapping_is_one_value_and_a_full_one_is_its_members() -> None:
    assert list(leaves({"a": {}, "b": {"c": [1, None]}})) == [
        (("a",), {}),
        (("b", "c", 0), 1),
        (("b", "c", 1), None),
    ]
