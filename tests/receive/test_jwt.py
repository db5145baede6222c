"""Tokens of an issuer: which are believed, and who is behind them."""

import hashlib
import hmac
import json
import string
from dataclasses import replace
from typing import Any

import pytest
from msgspec import structs

from interlock.core.model import OperationType, Scope
from interlock.errors import Code, Reason
from interlock.receive.identify import Principal
from interlock.receive.jwt import ALGORITHMS, EARLY, MAX_TOKEN, Terms, identified, read, token_id
from interlock.receive.key_set import read_key_set
from tests.receive.issuing import AUDIENCE, ISSUER, NOW, SECOND, Signer, document, encoded, part, usual

SIGNER, OTHER = Signer("first", number=1), Signer("second", number=2)
TERMS = Terms(ISSUER, AUDIENCE, "https://issuer.example/keys", frozenset({"ws-prod"}))
KEYS = read_key_set(document(SIGNER.jwk(), OTHER.jwk()))
SECONDS = NOW // SECOND
ALICE = Principal("jwt:alice", "agent", frozenset({"agent"}), None, Scope(expires_at=NOW + 600 * SECOND))

UNREADABLE = "The token is neither one of this gateway nor a JWT that can be read."
ALGORITHM = "The token is not signed in a way that is accepted here."
SIGNATURE = "The token is not signed with a key of the issuer."
FOR_OTHERS = "The token is of another issuer or for another audience."


def identify(text: str, now: int = NOW) -> Principal | Reason:
    presented = read(text)
    found = presented if isinstance(presented, Reason) else identified(presented, KEYS, TERMS, now)
    if isinstance(found, Principal):
        assert found.token == token_id(text)
        return replace(found, token=None)  # no two signatures are alike, so neither are the ids
    return found


def with_claims(**claims: Any) -> Principal | Reason:
    """What becomes of a token that is good but for these claims; None leaves one out."""
    return identify(SIGNER.token(usual(**claims)))


def refusal(found: Principal | Reason) -> str:
    assert isinstance(found, Reason)
    assert found.code is Code.UNAUTHENTICATED
    assert found.fix
    return found.text


def test_a_good_token_names_its_principal() -> None:
    assert identify(SIGNER.token()) == ALICE
    assert identify(OTHER.token()) == ALICE


def test_a_token_is_known_by_an_id_that_is_no_part_of_it() -> None:
    text = SIGNER.token()

    assert token_id(text) == token_id(text) != token_id(text + "x")
    assert token_id(text).startswith("jwt:")
    assert len(token_id(text)) == 68


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_asymmetric_algorithm_is_accepted(algorithm: str) -> None:
    signer = Signer("mine", algorithm)
    presented = read(signer.token())
    assert not isinstance(presented, Reason)

    found = identified(presented, read_key_set(document(signer.jwk())), TERMS, NOW)

    assert isinstance(found, Principal)


# The text -------------------------------------------------------------------------------------------------------


def unsigned(**header: Any) -> str:
    return f"{part({'alg': 'none', 'kid': 'first', **header})}.{part(usual())}"


def with_secret(secret: bytes, algorithm: str = "HS256") -> str:
    """Signed with something that everybody knows, as if it were a shared secret."""
    signed = unsigned(alg=algorithm)
    return f"{signed}.{encoded(hmac.digest(secret, signed.encode(), hashlib.sha256))}"


@pytest.mark.parametrize(
    "text",
    [
        unsigned() + ".AAAA",
        unsigned(alg="None") + ".AAAA",
        with_secret(SIGNER.pem),
        with_secret(json.dumps(SIGNER.jwk()).encode()),
        with_secret(SIGNER.pem, "HS512"),
        SIGNER.token(alg="es256"),
        SIGNER.token(alg="Ed25519"),
        SIGNER.token(alg=["ES256"]),
        SIGNER.token(alg=None),
        SIGNER.sealed(part({"kid": "first"}), part(usual())),
    ],
)
def test_only_a_signature_with_a_private_key_counts(text: str) -> None:
    assert refusal(identify(text)) == ALGORITHM


@pytest.mark.parametrize("algorithm", [each for each in ALGORITHMS if each != "ES256"])
def test_a_signature_under_the_name_of_another_algorithm_is_none(algorithm: str) -> None:
    assert refusal(identify(SIGNER.token(alg=algorithm))) == SIGNATURE


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abc",
        "a.b.c",
        "..",
        unsigned() + ".",
        SIGNER.token() + ".",
        SIGNER.token() + ".AAAA",
        SIGNER.token() + "=",
        SIGNER.token() + "\n",
        SIGNER.token().replace(".", "..", 1),
        "\xe4" + SIGNER.token(),
        "\ud800" + SIGNER.token(),
        SIGNER.token()[:-1],
        SIGNER.sealed("AB", part(usual())),
        SIGNER.sealed(part({"alg": "ES256", "kid": "first"}), encoded(b"alice")),
        SIGNER.sealed(part({"alg": "ES256", "kid": "first"}), encoded(b"")),
        SIGNER.sealed(part({"alg": "ES256", "kid": "first"}), part(["alice"])),
        SIGNER.sealed(part({"alg": "ES256", "kid": "first"}), encoded(b'{"sub": "a", "sub": "b"}')),
        SIGNER.sealed(part({"alg": "ES256", "kid": "first"}), encoded(b'{"exp": NaN}')),
        SIGNER.sealed(part({"alg": "ES256", "kid": "first"}), encoded(b"\xff\xff\xff")),
        SIGNER.sealed(part({"alg": "ES256", "kid": "first"}), encoded(b"[" * 5_000)),
        SIGNER.sealed(part("ES256"), part(usual())),
        SIGNER.sealed(encoded(b'{"alg":"ES256","kid":"first","alg":"none"}'), part(usual())),
        SIGNER.token(kid=5),
        SIGNER.token(crit=["exp"]),
        SIGNER.token(crit=["b64"], b64=False),
        SIGNER.token(crit=[]),
        SIGNER.token(typ="logout+jwt"),
        SIGNER.token(typ=5),
        SIGNER.token(usual(more="x" * MAX_TOKEN)),
    ],
)
def test_what_is_no_token_as_we_read_them_is_refused(text: str) -> None:
    assert refusal(identify(text)) == UNREADABLE


@pytest.mark.parametrize("kind", ["JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt", None])
def test_a_token_may_say_what_kind_it_is(kind: str | None) -> None:
    assert isinstance(identify(SIGNER.token(typ=kind)), Principal)


def test_a_part_has_one_spelling_only() -> None:
    text = SIGNER.token()  # 64 bytes of signature leave four bits of the last letter unused
    letters = string.ascii_uppercase + string.ascii_lowercase + string.digits
    spelled = text[:-1] + letters[letters.index(text[-1]) + 1]

    assert isinstance(identify(text), Principal)
    assert refusal(identify(spelled)) == UNREADABLE


@pytest.mark.parametrize(
    "text",
    [
        SIGNER.token(kid="second"),
        OTHER.token(kid="first"),
        SIGNER.token(kid="third"),
        SIGNER.token(kid=""),
        SIGNER.token(kid="x" * 1_000),
        Signer(None, number=1).token(),
        Signer("first", number=3).token(),
        SIGNER.token().rpartition(".")[0] + "." + OTHER.token().rpartition(".")[2],
        SIGNER.token().rpartition(".")[0] + ".AAAA",
    ],
    ids="swapped swapped-too unknown empty long unnamed strange borrowed short".split(),
)
def test_a_token_that_no_key_of_the_issuer_signed_under_its_name_is_refused(text: str) -> None:
    assert refusal(identify(text)) == SIGNATURE


@pytest.mark.parametrize("part_of", [0, 1], ids=["head", "body"])
def test_nothing_of_a_token_can_be_exchanged(part_of: int) -> None:
    pieces = SIGNER.token().split(".")
    pieces[part_of] = SIGNER.token(usual(sub="mallory"), typ="at+jwt").split(".")[part_of]

    assert refusal(identify(".".join(pieces))) == SIGNATURE


@pytest.mark.parametrize(
    "header",
    [
        {"jwk": Signer("first", number=3).jwk()},
        {"jku": "http://127.0.0.1:9/keys"},
        {"x5u": "http://127.0.0.1:9/keys"},
        {"x5c": ["AAAA"]},
    ],
    ids=lambda each: next(iter(each)),
)
def test_a_key_that_a_token_brings_along_counts_for_nothing(header: dict[str, Any]) -> None:
    assert refusal(identify(Signer("first", number=3).token(**header))) == SIGNATURE
    assert isinstance(identify(SIGNER.token(**header)), Principal)


# Whose, for whom, when ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("issuer", [ISSUER[:-1], ISSUER + "x", ISSUER.upper(), "", 5, [ISSUER], None])
def test_a_token_of_another_issuer_is_refused(issuer: Any) -> None:
    assert refusal(with_claims(iss=issuer)) == FOR_OTHERS


@pytest.mark.parametrize("audience", ["other", "interlock2", "INTERLOCK", "", [], ["other"], [f" {AUDIENCE}"]])
def test_a_token_for_another_audience_is_refused(audience: Any) -> None:
    assert refusal(with_claims(aud=audience)) == FOR_OTHERS


@pytest.mark.parametrize("audience", [None, 5, {AUDIENCE: 1}, [5], [AUDIENCE, 5]])
def test_a_token_that_does_not_say_for_whom_it_is_is_refused(audience: Any) -> None:
    assert refusal(with_claims(aud=audience)) == "The claim aud of the token is missing or not understood."


def test_one_of_several_audiences_may_be_us() -> None:
    assert isinstance(with_claims(aud=["other", AUDIENCE]), Principal)


@pytest.mark.parametrize("end", [SECONDS, SECONDS - 1, SECONDS - 0.5, 0])
def test_an_expired_token_is_refused(end: float) -> None:
    assert refusal(with_claims(exp=end)) == "The token has expired."


def test_a_token_is_good_until_the_moment_in_which_it_ends() -> None:
    text = SIGNER.token(usual(exp=SECONDS + 0.5))

    assert isinstance(identify(text, NOW + SECOND // 2 - 1), Principal)
    assert refusal(identify(text, NOW + SECOND // 2)) == "The token has expired."


@pytest.mark.parametrize("end", [None, "soon", str(SECONDS + 600), True, -1, 1e300, 253_402_300_800, [SECONDS + 600]])
def test_a_token_without_an_end_is_refused(end: Any) -> None:
    assert refusal(with_claims(exp=end)) == "The claim exp of the token is missing or not understood."


def test_a_token_that_is_not_valid_yet_is_refused_but_for_the_difference_of_clocks() -> None:
    early = EARLY // SECOND

    assert refusal(with_claims(nbf=SECONDS + early + 1)) == "The token is not valid yet."
    assert isinstance(with_claims(nbf=SECONDS + early), Principal)
    assert early <= 60


@pytest.mark.parametrize("beginning", ["now", True, -1, [0]])
def test_a_beginning_that_is_not_understood_is_refused(beginning: Any) -> None:
    assert refusal(with_claims(nbf=beginning)) == "The claim nbf of the token is missing or not understood."


# Claims ---------------------------------------------------------------------------------------------------------


def alice(**more: Any) -> Principal:
    return replace(ALICE, **more)


def limited(**limits: Any) -> Principal:
    return replace(ALICE, scope=structs.replace(ALICE.scope, **limits))


def roles(*words: str) -> frozenset[str]:
    return frozenset(words)


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({}, alice()),
        ({"sub": "operator"}, alice(name="jwt:operator")),
        ({"sub": "Alice Ünal <a@b>"}, alice(name="jwt:Alice Ünal <a@b>")),
        ({"sub": "x" * 200}, alice(name="jwt:" + "x" * 200)),
        ({"interlock_roles": ["auditor", "admin"]}, alice(roles=roles("auditor", "admin"), kind="human")),
        ({"interlock_roles": ["agent", "king"]}, alice()),
        ({"interlock_roles": ["approver"], "interlock_kind": "agent"}, alice(roles=roles("approver"))),
        ({"interlock_kind": "service"}, alice(kind="service")),
        ({"interlock_roles": None, "scope": "openid interlock:auditor"}, alice(roles=roles("auditor"), kind="human")),
        ({"interlock_roles": None, "scope": "interlock:agent interlock:king"}, alice()),
        ({"interlock_roles": ["agent"], "scope": "interlock:admin"}, alice()),
        ({"groups": ["admin"], "roles": ["admin"]}, alice()),
        ({"interlock_workspace": "ws-prod"}, alice(workspace="ws-prod")),
        ({"interlock_owner": "bob"}, alice(owner="bob")),
        ({"interlock_servers": ["git*", "up"]}, limited(servers=("git*", "up"))),
        ({"interlock_servers": []}, limited(servers=())),
        ({"interlock_tools": ["git*", "up"]}, limited(tools=("git*", "up"))),
        ({"interlock_tools": []}, limited(tools=())),
        ({"interlock_ceiling": "read"}, limited(ceiling=OperationType.READ)),
    ],
)
def test_which_claim_becomes_what(claims: dict[str, Any], expected: Principal) -> None:
    assert with_claims(**claims) == expected


NOT_UNDERSTOOD: dict[str, list[Any]] = {
    "sub": [None, "", 5, ["alice"], "x" * 201, "a\nb", "a\x00", "\u202eecila", " alice", "a "],
    "interlock_roles": ["admin", [5], {"admin": True}],
    "interlock_kind": ["", "robot", 5, ["human"]],
    "interlock_workspace": ["", "ws-none", 5, ["ws-prod"]],
    "interlock_servers": ["up", [5], {}, ["["], ["x" * 1001]],
    "interlock_tools": ["up", [5], {}, ["["], ["x" * 1001]],
    "interlock_ceiling": ["", "sky", 5, ["read"]],
    "interlock_owner": ["", 5, "x" * 201, "a\nb"],
}


@pytest.mark.parametrize(("claim", "value"), [(claim, each) for claim, some in NOT_UNDERSTOOD.items() for each in some])
def test_a_claim_that_is_not_understood_refuses_the_whole_token(claim: str, value: Any) -> None:
    assert refusal(with_claims(**{claim: value})) == f"The claim {claim} of the token is missing or not understood."


@pytest.mark.parametrize("claim", ["interlock_servers", "interlock_tools", "interlock_ceiling", "interlock_roles"])
def test_a_limit_that_is_null_is_not_understood_either(claim: str) -> None:
    found = identify(SIGNER.token({**usual(), claim: None}))

    assert refusal(found) == f"The claim {claim} of the token is missing or not understood."


def test_a_claim_about_us_that_is_not_known_may_be_a_limit() -> None:
    found = refusal(with_claims(interlock_tool=["secret-name"]))

    assert found == "The claim interlock_… of the token is missing or not understood."


@pytest.mark.parametrize("scope", [5, ["interlock:agent"]])
def test_a_scope_that_is_no_text_is_not_understood(scope: Any) -> None:
    found = refusal(with_claims(interlock_roles=None, scope=scope))

    assert found == "The claim scope of the token is missing or not understood."


@pytest.mark.parametrize(
    "claims",
    [
        {"interlock_roles": None},
        {"interlock_roles": []},
        {"interlock_roles": ["Admin", "root"]},
        {"interlock_roles": [], "scope": "interlock:admin"},
        {"interlock_roles": None, "scope": "agent admin openid Interlock:admin xinterlock:admin"},
        {"interlock_roles": None, "scope": "interlock:"},
    ],
)
def test_a_token_without_a_role_of_ours_is_forbidden_everything(claims: dict[str, Any]) -> None:
    found = with_claims(**claims)

    assert isinstance(found, Reason)
    assert (found.code, found.text) == (Code.FORBIDDEN, "The token gives no role here.")
    assert "interlock_roles" in found.fix
