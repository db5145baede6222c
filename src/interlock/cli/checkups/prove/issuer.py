"""The proof about tokens of an issuer: issuer, audience, time and signature count, as the configuration names them.

The user's issuer is asked for nothing: the sandbox has keys of its own for the occasion.
"""

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from interlock.cli.checkups.prove.issuing import signed, unsigned
from interlock.cli.checkups.prove.proof import Broken, NotApplicable, Proof
from interlock.cli.checkups.prove.sandbox import Agent, Sandbox
from interlock.clock import SystemClock

_SECOND = 1_000_000
_MINUTES = 600


async def forged(box: Sandbox) -> str:
    jwt = box.config.settings.identity.jwt
    if jwt is None:
        raise NotApplicable("no issuer is configured (identity.jwt)")
    now = SystemClock().now() // _SECOND
    good: dict[str, object] = {
        "iss": jwt.issuer,
        "aud": jwt.audience,
        "sub": "prover",
        "exp": now + _MINUTES,
        "interlock_roles": ["agent"],
    }
    if await _status(box, signed(box.key, good)) == "401":
        raise Broken("A good token of the issuer is refused.")
    bad = {
        "signed by another key": signed(Ed25519PrivateKey.generate(), good),
        "without a signature": unsigned(good),
        "of another issuer": signed(box.key, {**good, "iss": f"{jwt.issuer}.evil.test"}),
        "for another audience": signed(box.key, {**good, "aud": "somebody-else"}),
        "that has expired": signed(box.key, {**good, "exp": now - _MINUTES}),
    }
    for how, token in bad.items():
        before = box.sends()
        if (status := await _status(box, token)) != "401" or box.sends() != before:
            raise Broken(f"A token {how} was answered with {status or 'what it asked for'}.")
    return f"A good token was accepted; refused was one {', '.join(bad)}."


async def _status(box: Sandbox, token: str) -> str | None:
    return (await Agent(box.reach, "jwt:prover", "", token).call(box.targets[0])).code


PROOFS = (
    Proof(
        "forged-tokens",
        "Of tokens of others, only those that your issuer signed for this gateway are accepted.",
        forged,
    ),
)
