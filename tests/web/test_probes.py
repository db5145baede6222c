"""The plain questions of those who watch the process."""

from typing import Any

import pytest

from interlock.receive.edge import Refused
from interlock.web.probes import answer_probe, is_probe
from tests.web.office import Office


def scope(path: str, query: str = "", method: str = "GET") -> dict[str, Any]:
    return {"type": "http", "path": path, "method": method, "query_string": query.encode()}


async def ask(office: Office, path: str, query: str = "", role: str | None = None) -> tuple[int, bytes]:
    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    headers = {} if role is None else {"authorization": f"Bearer {await office.token(role)}"}
    await answer_probe(office.parts, scope(path, query), headers, send)
    return sent[0]["status"], b"".join(each.get("body", b"") for each in sent[1:])


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics"])
def test_a_probe_is_read_and_never_written(path: str) -> None:
    assert is_probe(scope(path))
    assert is_probe(scope(path, method="HEAD"))
    assert not is_probe(scope(path, method="POST"))
    assert not is_probe(scope(f"{path}/"))


async def test_a_process_that_answers_lives_and_is_ready_for_whoever_may_call(bare: Office) -> None:
    assert await ask(bare, "/livez") == (200, b'{"alive":true}')
    assert await ask(bare, "/readyz") == (200, b'{"ready":true}')
    assert await ask(bare, "/readyz", "quiet=verbose&unverbose", "agent") == (200, b'{"ready":true}')


@pytest.mark.parametrize("query", ["verbose", "verbose=", "verbose=1", "a=b&verbose"])
async def test_more_is_told_when_it_is_asked_for(bare: Office, query: str) -> None:
    status, body = await ask(bare, "/readyz", query, "auditor")

    assert status == 200
    assert body.startswith(b'{"ready":true,"checks":[{"name":"servers","ok":true,"text":')


@pytest.mark.parametrize(("path", "query"), [("/metrics", ""), ("/readyz", "verbose")])
@pytest.mark.parametrize("role", [None, "agent"])
async def test_what_says_more_is_for_readers_only(bare: Office, path: str, query: str, role: str | None) -> None:
    with pytest.raises(Refused) as refused:
        await ask(bare, path, query, role)

    assert refused.value.status == 403


async def test_a_wrong_token_is_refused_everywhere(bare: Office) -> None:
    async def send(message: Any) -> None:
        raise AssertionError(message)

    with pytest.raises(Refused) as refused:
        await answer_probe(bare.parts, scope("/livez"), {"authorization": "Bearer nobody"}, send)

    assert refused.value.status == 401
