"""The parts that routes are given."""

from pathlib import Path

from tests.web.office import Office, fleet_of, office


async def test_two_gateways_in_one_process_do_not_share_anything(bare: Office, tmp_path: Path) -> None:
    async with fleet_of() as fleet, office(tmp_path / "other", fleet) as other:
        text = await other.token("admin")
        stranger = await bare.http.get("/api/v1/settings", headers={"Authorization": f"Bearer {text}"})

        assert (await other.get("/settings"))["posture"] == "guarded"
        assert stranger.status_code == 401
