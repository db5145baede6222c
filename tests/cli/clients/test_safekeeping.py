"""Where secrets go."""

from pathlib import Path

from interlock.cli.clients.adopt import adopt
from interlock.cli.clients.safekeeping import Safekeeping

ONE, TWO = "ghp_" + "0123456789" * 4, "ghp_" + "9876543210" * 4


def test_a_secret_goes_into_a_file_of_its_owner(tmp_path: Path) -> None:
    kept = Safekeeping(tmp_path / "data", "file")
    definition = kept.referring(adopt("GitHub", {"command": "p", "env": {"TOKEN": ONE, "MODE": "x"}}))
    file = tmp_path / "data" / "secrets" / "github.TOKEN"

    assert definition["env"] == {"TOKEN": f"${{file:{file}}}", "MODE": "x"}
    assert not file.exists()
    kept.keep()
    assert file.read_text() == ONE
    private = [each.stat().st_mode & 0o777 for each in (file, file.parent, file.parent.parent)]
    assert private == [0o600, 0o700, 0o700]


def test_the_scheme_of_a_header_stays_outside(tmp_path: Path) -> None:
    kept = Safekeeping(tmp_path, "file")
    definition = kept.referring(adopt("a", {"url": "http://h/", "headers": {"Authorization": f"Bearer {ONE}"}}))

    assert definition["headers"] == {"Authorization": f"Bearer ${{file:{tmp_path}/secrets/a.Authorization}}"}
    assert list(kept.files.values()) == [ONE]


def test_no_file_that_is_there_is_written_over_and_the_same_secret_is_kept_once(tmp_path: Path) -> None:
    first = Safekeeping(tmp_path, "file")
    first.referring(adopt("a", {"command": "p", "env": {"TOKEN": ONE}}))
    first.keep()

    again, other = Safekeeping(tmp_path, "file"), Safekeeping(tmp_path, "file")
    again.referring(adopt("a", {"command": "p", "env": {"TOKEN": ONE}}))
    other.referring(adopt("a", {"command": "p", "env": {"TOKEN": TWO}}))
    again.keep()
    other.keep()

    assert {each.name: each.read_text() for each in (tmp_path / "secrets").iterdir()} == {
        "a.TOKEN": ONE,
        "a.TOKEN-2": TWO,
    }


def test_two_secrets_never_share_a_variable(tmp_path: Path) -> None:
    kept = Safekeeping(tmp_path, "env")
    values = [
        kept.referring(adopt(name, {"command": "p", "env": {"TOKEN": value}}))["env"]["TOKEN"]
        for name, value in (("a", ONE), ("b-c", TWO), ("d", ONE))
    ]

    assert values == ["${env:TOKEN}", "${env:B_C_TOKEN}", "${env:TOKEN}"]
    assert list(kept.exports()) == ["export TOKEN='…'", "export B_C_TOKEN='…'"]


def test_a_name_leads_nowhere_else(tmp_path: Path) -> None:
    kept = Safekeeping(tmp_path, "file")
    kept.referring(adopt("a", {"command": "p", "env": {"../../TOKEN": ONE}}))

    assert [each.parent for each in kept.files] == [tmp_path / "secrets"]


def test_nothing_of_it_is_shown_by_accident(tmp_path: Path) -> None:
    kept = Safekeeping(tmp_path, "env")
    adopted = adopt("a", {"command": "p", "env": {"TOKEN": ONE}})
    kept.referring(adopted)

    assert ONE not in repr(kept) + repr(adopted)
