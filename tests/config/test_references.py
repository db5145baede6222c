"""Secrets by reference: resolved, or refused without being shown."""

from pathlib import Path

import pytest

from interlock.config.references import resolve, values_in
from interlock.errors import ConfigError


def test_references_are_replaced_wherever_they_stand(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("from a file\n", encoding="utf-8")
    text = f"Bearer ${{env:TOKEN}} and ${{file:{secret}}}, ${{env:TOKEN}}"

    assert resolve(text, {"TOKEN": "abc"}, "here") == "Bearer abc and from a file, abc"


def test_text_without_references_stays_as_it_is() -> None:
    assert resolve("$HOME ${} plain", {}, "here") == "$HOME ${} plain"


def test_what_a_reference_leads_to_is_not_looked_into_again() -> None:
    assert resolve("${env:A}", {"A": "${env:B}", "B": "x"}, "here") == "${env:B}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("${env:NOPE}", "servers.a.env.X: the environment variable NOPE is not set"),
        ("${file:/no/such/file}", "servers.a.env.X: the file /no/such/file cannot be read"),
        ("${keyring:x}", "servers.a.env.X: ${keyring:x} cannot be read by this build; use ${env:…} or ${file:…}"),
    ],
)
def test_a_reference_that_leads_nowhere_is_an_error_that_names_it(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        resolve(text, {"OTHER": "secret"}, "servers.a.env.X")

    assert refused.value.problems == (said,)


def test_a_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    odd = tmp_path / "odd"
    odd.write_bytes(b"\xff\xfe\x00")

    with pytest.raises(ConfigError):
        resolve(f"${{file:{odd}}}", {}, "here")


def test_the_values_of_references_can_be_listed_and_what_leads_nowhere_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("from-file\n")
    texts = ["Bearer ${env:A}", f"${{file:{tmp_path / 'key'}}}${{env:B}}", "${env:NOT}", "plain"]

    assert list(values_in(texts, {"A": "one", "B": "two"})) == ["one", "from-file", "two"]
