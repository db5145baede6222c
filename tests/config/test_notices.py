"""Who is told of approvals, as the settings say it."""

from pathlib import Path

from interlock.approve.notices import NoticeTargets, Webhook
from interlock.config.notices import notices_of
from tests.running import config_of

NOTICES = """
notices:
  webhooks:
    - {url: "https://a.example/swordfish", secret: "${env:HOOK}"}
    - {url: "https://b.example:8443/swordfish", secret: "${env:NONE}"}
    - {url: "https://c.example/swordfish"}
    - {url: "https://d.test/swordfish", secret: "whsec_${env:HOOK}"}
    - {url: "https://e.test/swordfish", secret: "${env:EMPTY}"}
  command: notify-send 'an approval waits'
"""


def test_who_is_told_of_approvals_is_what_the_file_says_without_those_whose_secret_leads_nowhere(
    tmp_path: Path,
) -> None:
    found = notices_of(config_of(tmp_path, NOTICES), {"HOOK": "open sesame", "EMPTY": ""})

    assert found.webhooks == (
        Webhook("https://a.example/swordfish", "open sesame", "notices.webhooks[0]"),
        Webhook("https://c.example/swordfish", None, "notices.webhooks[2]"),
    )
    assert found.command == ("notify-send", "an approval waits")
    assert [each.text for each in found.unusable] == [
        "notices.webhooks[1].secret: the environment variable NONE is not set. https://b.example:8443 is told nothing.",
        "notices.webhooks[3].secret begins with whsec_, but is no base64 after that. https://d.test is told nothing.",
        "notices.webhooks[4].secret is empty. https://e.test is told nothing.",
    ]


def test_by_default_nobody_is_told(tmp_path: Path) -> None:
    assert notices_of(config_of(tmp_path, ""), {}) == NoticeTargets((), None, ())
