"""The settings in force."""

from tests.web.office import Office


async def test_settings_are_shown_and_secrets_in_them_are_not(bare: Office) -> None:
    assert await bare.get("/settings", "auditor") == {
        "posture": "guarded",
        "webhook": {"secret": "[redacted text of 14 characters]"},
    }
