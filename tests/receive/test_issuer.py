"""The issuer: when its keys are fetched, how long they are used, and what is remembered of its tokens."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from interlock.errors import Reason
from interlock.receive import issuer as module
from interlock.receive.identify import Principal
from interlock.receive.issuer import KEEP, MAX_VERIFIED, PAUSE, RETRY, Issuer, Standing
from interlock.receive.jwt import Terms
from tests.certificates import self_signed, serving
from tests.fakes import FakeClock
from tests.receive.issuing import AUDIENCE, ISSUER, NOW, SECOND, KeyServer, Signer, http, key_server, usual

FIRST, NEXT = Signer("first", number=1), Signer("next", number=2)
NO_KEYS = "The token cannot be checked, because the keys of its issuer cannot be fetched now."
SIGNATURE = "The token is not signed with a key of the issuer."
LONG = usual(exp=NOW // SECOND + 86_400)


@dataclass(frozen=True)
class Stage:
    """An issuer that is trusted, the server with its keys, and the clock."""

    issuer: Issuer
    server: KeyServer
    clock: FakeClock
    terms: Terms

    async def admitted(self, signer: Signer = FIRST, **header: str) -> bool:
        return isinstance(await self.issuer.admit(signer.token(LONG, **header)), Principal)

    async def refused(self, text: str) -> str:
        found = await self.issuer.admit(text)
        assert isinstance(found, Reason)
        return found.text

    async def settled(self) -> None:
        """Let what is fetched beside the requests end."""
        async with asyncio.timeout(10):
            source = self.issuer._source  # pyright: ignore[reportPrivateUsage] - nobody else needs to wait for it
            assert source is not None
            await source._fetched()  # pyright: ignore[reportPrivateUsage]

    @property
    def fetches(self) -> int:
        return len(self.server.paths)


@pytest.fixture
async def stage() -> AsyncGenerator[Stage]:
    async with key_server(FIRST) as server, running(server) as made:
        yield made


@contextlib.asynccontextmanager
async def running(server: KeyServer) -> AsyncGenerator[Stage]:
    clock = FakeClock(NOW)
    issuer = Issuer(clock)
    terms = Terms(ISSUER, AUDIENCE, server.url)
    issuer.trust(terms)
    async with issuer.running():
        yield Stage(issuer, server, clock, terms)


# Tokens ---------------------------------------------------------------------------------------------------------


async def test_a_token_is_known_once_it_was_admitted_and_the_keys_are_fetched_when_first_needed(stage: Stage) -> None:
    text = FIRST.token()
    before, fetched = stage.issuer.known(text), stage.fetches
    found = await stage.issuer.admit(text)

    assert (before, fetched) == (None, 0)
    assert isinstance(found, Principal)
    assert stage.issuer.known(text) is found
    assert stage.issuer.known(text + "x") is None
    assert (await stage.issuer.admit(text), stage.fetches) == (found, 1)


async def test_what_is_no_token_makes_nobody_fetch_anything(stage: Stage) -> None:
    await stage.refused("hello")
    await stage.refused(FIRST.token(alg="HS256"))

    assert stage.fetches == 0


async def test_a_token_is_forgotten_when_it_ends(stage: Stage) -> None:
    text = FIRST.token(usual(exp=NOW // SECOND + 5))
    await stage.issuer.admit(text)
    stage.clock.forward(5 * SECOND - 1)
    just_before = stage.issuer.known(text)
    stage.clock.forward(1)

    assert just_before is not None
    assert stage.issuer.known(text) is None
    assert await stage.refused(text) == "The token has expired."


async def test_a_token_that_was_refused_is_not_known(stage: Stage) -> None:
    text = FIRST.token(usual(aud="other"))

    assert await stage.refused(text) == "The token is of another issuer or for another audience."
    assert stage.issuer.known(text) is None


async def test_the_tokens_that_were_not_used_for_longest_are_forgotten_first(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MAX_VERIFIED", 3)
    texts = [FIRST.token(usual(sub=f"agent-{number}")) for number in range(4)]
    for text in texts[:3]:
        await stage.issuer.admit(text)
    stage.issuer.known(texts[0])
    await stage.issuer.admit(texts[3])

    assert [stage.issuer.known(text) is not None for text in texts] == [True, False, True, True]
    assert MAX_VERIFIED >= 1_000


async def test_no_text_of_a_token_is_kept(stage: Stage) -> None:
    text = FIRST.token()
    await stage.issuer.admit(text)

    assert text.rpartition(".")[2] not in repr(stage.issuer.__dict__)


async def test_whoever_waited_is_known_by_the_id_of_its_token_until_that_ends(stage: Stage) -> None:
    found = await stage.issuer.admit(FIRST.token(usual(exp=NOW // SECOND + 3_600)))
    assert isinstance(found, Principal)
    assert found.token is not None
    stage.clock.forward(2 * KEEP)  # the keys are due, but nobody has asked for them since
    waited = stage.issuer.again(found.token)
    stage.clock.forward(3_600 * SECOND - 2 * KEEP)

    assert waited is found
    assert stage.issuer.again(found.token) is None
    assert stage.issuer.again("jwt:another") is None


async def test_an_approver_may_answer_as_long_as_a_token_says_so(stage: Stage) -> None:
    await stage.issuer.admit(FIRST.token(usual(sub="bob", interlock_roles=["approver"])))
    await stage.issuer.admit(FIRST.token(usual(sub="eve", interlock_roles=["auditor"])))
    now = [stage.issuer.may_still_answer(name) for name in ("jwt:bob", "jwt:eve", "bob")]
    stage.clock.forward(600 * SECOND)

    assert now == [True, False, False]
    assert not stage.issuer.may_still_answer("jwt:bob")


# Keys -----------------------------------------------------------------------------------------------------------


async def test_keys_are_used_for_ten_minutes_and_then_fetched_beside_the_request(stage: Stage) -> None:
    await stage.admitted()
    stage.clock.forward(KEEP - 1)
    await stage.admitted()
    fresh = stage.fetches
    stage.clock.forward(1)
    stage.server.may_answer.clear()  # the server hangs, and nobody whose key is known waits for it
    async with asyncio.timeout(5):
        admitted = await stage.admitted()
    stage.server.may_answer.set()
    await stage.settled()

    assert (fresh, admitted, stage.fetches) == (1, True, 2)


async def test_a_key_that_is_no_longer_published_is_no_longer_accepted(stage: Stage) -> None:
    text = FIRST.token(LONG)
    await stage.issuer.admit(text)
    stage.server.publish(NEXT)
    stage.clock.forward(KEEP)
    last = stage.issuer.known(text)
    await stage.issuer.admit(text)
    await stage.settled()

    assert last is None
    assert stage.issuer.known(text) is None
    assert await stage.refused(text) == SIGNATURE


async def test_tokens_whose_key_is_still_published_are_not_forgotten_when_others_change(stage: Stage) -> None:
    text = FIRST.token(LONG)
    await stage.issuer.admit(text)
    stage.server.publish(NEXT, FIRST)
    await stage.admitted(NEXT)
    with_both = stage.issuer.known(text)
    stage.server.publish(NEXT)
    stage.clock.forward(PAUSE)
    await stage.admitted(kid="unknown")

    assert with_both is not None
    assert stage.issuer.known(text) is None


async def test_a_new_key_is_found_when_a_token_names_it(stage: Stage) -> None:
    await stage.admitted()
    stage.server.publish(FIRST, NEXT)

    assert await stage.admitted(NEXT)
    assert stage.fetches == 2


async def test_a_thousand_unknown_keys_are_two_fetches(stage: Stage) -> None:
    texts = [FIRST.token(LONG, kid=f"unknown-{number}") for number in range(1_000)]
    at_once = await asyncio.gather(*(stage.issuer.admit(text) for text in texts[:500]))
    one_by_one = [await stage.issuer.admit(text) for text in texts[500:]]

    assert all(isinstance(each, Reason) and each.text == SIGNATURE for each in [*at_once, *one_by_one])
    assert stage.fetches == 2


async def test_for_unknown_keys_the_server_is_asked_again_after_a_while_only(stage: Stage) -> None:
    await stage.admitted()
    await stage.admitted(kid="unknown")
    stage.clock.forward(PAUSE - 1)
    await stage.admitted(kid="unknown-too")
    before = stage.fetches
    stage.clock.forward(1)
    await stage.admitted(kid="unknown-too")

    assert (before, stage.fetches) == (2, 3)


async def test_only_those_wait_for_a_slow_server_whose_key_is_not_known(stage: Stage) -> None:
    await stage.admitted()
    stage.server.publish(FIRST, NEXT)
    stage.server.may_answer.clear()
    stage.server.asked.clear()
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        waiting = group.create_task(stage.admitted(NEXT))
        await stage.server.asked.wait()
        at_once = await stage.admitted()
        not_yet = waiting.done()
        stage.server.may_answer.set()

    assert (at_once, not_yet, waiting.result()) == (True, False, True)


async def test_whoever_waits_and_goes_away_does_not_take_the_keys_from_the_others(stage: Stage) -> None:
    stage.server.may_answer.clear()
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        gone, patient = group.create_task(stage.admitted()), group.create_task(stage.admitted())
        await stage.server.asked.wait()
        gone.cancel()
        stage.server.may_answer.set()

    assert patient.result()
    assert stage.fetches == 1


async def test_only_so_many_wait_at_the_same_time(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_WAITING", 2)
    stage.server.may_answer.clear()
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        waiting = [group.create_task(stage.admitted()) for _ in range(2)]
        await stage.server.asked.wait()
        one_more = await stage.refused(FIRST.token())
        stage.server.may_answer.set()

    assert one_more == NO_KEYS
    assert [each.result() for each in waiting] == [True, True]


async def test_a_server_that_hangs_is_given_up(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "FETCH_SECONDS", 0.05)
    stage.server.may_answer.clear()
    async with asyncio.timeout(5):
        refused = await stage.refused(FIRST.token())

    assert refused == NO_KEYS
    assert (await standing(stage)).problem == "it did not answer within 0 s"


async def test_old_keys_go_on_being_used_while_new_ones_cannot_be_fetched(stage: Stage) -> None:
    text = FIRST.token(LONG)
    await stage.issuer.admit(text)
    stage.server.answer = http(b"", "500 Oh no")
    stage.clock.forward(KEEP)
    due = await stage.admitted()
    await stage.settled()
    problem = (await standing(stage)).problem
    after = await stage.admitted()
    stage.clock.forward(PAUSE)
    stage.server.publish(NEXT)
    await stage.admitted()
    await stage.settled()

    assert (due, problem, after) == (True, "it answered with status 500", True)
    assert await stage.refused(text) == SIGNATURE
    assert (await standing(stage)).problem is None


async def test_while_keys_cannot_be_fetched_again_a_known_token_costs_no_second_look(stage: Stage) -> None:
    text = FIRST.token(LONG)
    await stage.issuer.admit(text)
    stage.server.answer = b""
    stage.clock.forward(KEEP)
    await stage.issuer.admit(text)
    await stage.settled()

    assert stage.issuer.known(text) is not None
    assert stage.fetches == 2


async def test_without_keys_the_server_is_asked_again_soon_but_not_by_everybody(stage: Stage) -> None:
    stage.server.answer = http(b"", "503 Not yet")
    refused = {await stage.refused(FIRST.token()) for _ in range(100)}
    asked = stage.fetches
    stage.server.publish(FIRST)
    stage.clock.forward(RETRY)

    assert (refused, asked) == ({NO_KEYS}, 1)
    assert await stage.admitted()


async def test_a_server_that_is_down_at_first_is_found_when_it_is_up() -> None:
    async with key_server(FIRST) as server:
        port = server.port
    async with running(server) as stage:
        down = await stage.refused(FIRST.token())
        problem = (await standing(stage)).problem
        stage.clock.forward(RETRY)
        async with key_server(FIRST, port=port):
            up = await stage.admitted()

    assert (down, up) == (NO_KEYS, True)
    assert problem is not None
    assert problem.startswith("it cannot be reached: ")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (http(b"{}"), "its answer is no set of at most 100 keys"),
        (http(b"<html>"), "its answer is not JSON"),
        (http(b" " * (module.MAX_BODY + 1)), f"its answer is longer than {module.MAX_BODY} bytes"),
        (http(b"", "404 Not Found"), "it answered with status 404"),
        (http(b"", "302 Found", "Location: /elsewhere\r\n"), "it answered with status 302"),
        (http(b"", "204 No Content"), "it answered with status 204"),
    ],
    ids="other html long missing moved empty".split(),
)
async def test_an_answer_without_keys_is_no_answer(stage: Stage, answer: bytes, problem: str) -> None:
    stage.server.answer = answer

    assert await stage.refused(FIRST.token()) == NO_KEYS
    assert await standing(stage) == Standing(ISSUER, AUDIENCE, 0, problem)
    assert stage.server.paths == ["/keys"]


@pytest.mark.parametrize("answer", [b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{"])
async def test_an_answer_that_is_no_http_is_told_as_a_problem(stage: Stage, answer: bytes) -> None:
    stage.server.answer = answer

    assert await stage.refused(FIRST.token()) == NO_KEYS
    assert ((await standing(stage)).problem or "").startswith("it cannot be reached: ")


@pytest.mark.parametrize("url", ["https://…", "http://127.0.0.1:99999/keys"])
async def test_an_address_that_means_nothing_is_told_as_a_problem(stage: Stage, url: str) -> None:
    stage.issuer.trust(replace(stage.terms, jwks_url=url))

    assert await stage.refused(FIRST.token()) == NO_KEYS
    assert ((await standing(stage)).problem or "").startswith("it cannot be asked (")


async def test_an_answer_is_not_unpacked(stage: Stage) -> None:
    stage.server.answer = http(b"\x1f\x8b", extra="Content-Encoding: gzip\r\n")

    assert await stage.refused(FIRST.token()) == NO_KEYS
    assert (await standing(stage)).problem == "its answer is not JSON"


async def test_variables_of_the_environment_do_not_send_us_elsewhere(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    assert await stage.admitted()


async def test_over_tls_keys_are_taken_only_from_a_server_whose_certificate_is_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate = self_signed(tmp_path)
    async with key_server(FIRST, tls=serving(certificate)) as server, running(server) as stage:
        strange = await stage.refused(FIRST.token())
        problem = (await standing(stage)).problem
        asked = stage.fetches
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        stage.clock.forward(RETRY)
        trusted = await stage.admitted()

    assert (strange, asked, trusted) == (NO_KEYS, 0, True)
    assert "certificate verify failed" in (problem or "")


async def test_a_problem_is_logged_once_and_without_a_token(stage: Stage, caplog: pytest.LogCaptureFixture) -> None:
    stage.server.answer = http(b"", "500 Oh no")
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            await stage.admitted()
            stage.clock.forward(RETRY)

    assert caplog.messages == ["The keys at identity.jwt.jwks_url cannot be fetched: it answered with status 500"]


# Terms ----------------------------------------------------------------------------------------------------------


async def standing(stage: Stage) -> Standing:
    found = await stage.issuer.standing()
    assert found is not None
    return found


async def test_how_an_issuer_is_doing_is_found_out_when_it_is_asked_for(stage: Stage) -> None:
    assert await standing(stage) == Standing(ISSUER, AUDIENCE, 1, None)
    assert await standing(stage) == Standing(ISSUER, AUDIENCE, 1, None)
    assert stage.fetches == 1


async def test_where_nobody_is_trusted_no_token_is_accepted() -> None:
    issuer = Issuer(FakeClock(NOW))
    found = await issuer.admit(FIRST.token())

    assert isinstance(found, Reason)
    assert found.text == "The token is not valid."
    assert (issuer.known(FIRST.token()), await issuer.standing()) == (None, None)


async def test_terms_that_change_hold_for_tokens_that_were_accepted_before(stage: Stage) -> None:
    text = FIRST.token()
    await stage.issuer.admit(text)
    stage.issuer.trust(replace(stage.terms, audience="other"))
    with_others = stage.issuer.known(text), await stage.refused(text)
    stage.issuer.trust(None)
    with_none = stage.issuer.known(text), await stage.refused(text)
    stage.issuer.trust(stage.terms)

    assert with_others == (None, "The token is of another issuer or for another audience.")
    assert with_none == (None, "The token is not valid.")
    assert await stage.admitted()


async def test_terms_that_stay_the_same_change_nothing(stage: Stage) -> None:
    text = FIRST.token()
    await stage.issuer.admit(text)
    stage.issuer.trust(replace(stage.terms))

    assert stage.issuer.known(text) is not None


async def test_other_terms_with_the_same_keys_do_not_fetch_them_again(stage: Stage) -> None:
    await stage.admitted()
    stage.issuer.trust(replace(stage.terms, workspaces=frozenset({"ws"})))

    assert await stage.admitted()
    assert stage.fetches == 1


async def test_a_token_that_was_being_looked_at_while_the_terms_changed_is_not_remembered(stage: Stage) -> None:
    text = FIRST.token()
    stage.server.may_answer.clear()
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        group.create_task(stage.issuer.admit(text))
        await stage.server.asked.wait()
        stage.issuer.trust(replace(stage.terms, audience="other"))
        stage.server.may_answer.set()

    assert stage.issuer.known(text) is None


async def test_whoever_waits_for_keys_of_an_issuer_that_is_trusted_no_more_is_refused_at_once(stage: Stage) -> None:
    stage.server.may_answer.clear()
    async with asyncio.timeout(5), asyncio.TaskGroup() as group:
        waiting = group.create_task(stage.refused(FIRST.token()))
        await stage.server.asked.wait()
        stage.issuer.trust(None)

    assert waiting.result() == NO_KEYS


async def test_a_fetch_that_is_under_way_does_not_keep_the_gateway_from_stopping() -> None:
    async with key_server(FIRST) as server:
        server.may_answer.clear()
        async with asyncio.timeout(5), asyncio.TaskGroup() as group, running(server) as stage:
            group.create_task(stage.admitted())
            await server.asked.wait()
