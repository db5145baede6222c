"""The proof about tokens of an issuer holds on a sound gateway, and sees a check that was left out."""

from pathlib import Path

import pytest

from interlock.receive.key_set import KeySet
from tests.cli.checkups.prove.boxes import tried_on

NAME = "forged-tokens"
TEXT = (
    "identity: {jwt: {issuer: 'https://issuer.example', audience: interlock, "
    "jwks_url: 'https://issuer.example/keys'}}\n"
)


async def test_it_holds_on_a_sound_gateway(tmp_path: Path) -> None:
    result = await tried_on(tmp_path, NAME, TEXT)

    assert result.state == "held", result.text


async def test_without_an_issuer_there_is_nothing_to_try(tmp_path: Path) -> None:
    result = await tried_on(tmp_path, NAME)

    assert (result.state, "no issuer is configured" in result.text) == ("not applicable", True)


def for_us(claims: object) -> list[str]:
    return ["interlock"]


def genuine(*_: object) -> bool:
    return True


async def test_a_gateway_that_takes_tokens_for_others_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("interlock.receive.jwt._audiences", for_us)
    result = await tried_on(tmp_path, NAME, TEXT)

    assert (result.state, "for another audience" in result.text) == ("BROKEN", True)


async def test_a_gateway_that_looks_at_no_signature_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KeySet, "verifies", genuine)
    result = await tried_on(tmp_path, NAME, TEXT)

    assert (result.state, "another key" in result.text) == ("BROKEN", True)
