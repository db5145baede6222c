"""The settings in force."""

from interlock.receive.issuer import Issuer
from interlock.receive.jwt import Terms
from tests.receive.issuing import AUDIENCE, ISSUER, Signer, key_server
from tests.web.office import Office


async def test_settings_are_shown_and_secrets_in_them_are_not(bare: Office) -> None:
    found = await bare.get("/settings", "auditor")

    assert found["posture"] == "guarded"
    assert found["webhook"] == {"secret": "[redacted text of 14 characters]"}
    assert found["identity"] is None


async def test_who_listens_and_how_the_gateway_is_stand_beside_the_settings(bare: Office) -> None:
    before = await bare.get("/settings", "auditor")
    bare.parts.audience.seen()
    after = await bare.get("/settings", "auditor")

    assert (before["listening"], after["listening"]) == ([], ["an approver was here a short while ago"])
    assert [each["name"] for each in after["readiness"]["checks"]] == ["servers", "store", "approvals"]


async def test_how_the_issuer_is_doing_is_shown_with_the_settings(bare: Office) -> None:
    signer = Signer()
    async with key_server(signer) as server:
        bare.parts.issuer = issuer = Issuer(bare.clock)
        issuer.trust(Terms(ISSUER, AUDIENCE, server.url))
        async with issuer.running():
            found = (await bare.get("/settings", "auditor"))["identity"]

    assert found == {"issuer": ISSUER, "audience": AUDIENCE, "keys": 1, "problem": None}
