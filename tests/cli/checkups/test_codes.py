"""The codes of the checks: stable, and each only once."""

import re

from interlock.cli.checkups.codes import CODES


def test_every_code_is_of_one_form_and_belongs_to_one_check() -> None:
    codes = [each.code for each in CODES.values()]

    assert all(re.fullmatch(r"IL-[A-Z]+-\d\d", each) for each in codes)
    assert len(set(codes)) == len(codes) == 20


def test_the_codes_that_notes_and_scripts_name_stay() -> None:
    assert {name: CODES[name].code for name in ("config", "folder", "lock", "database", "schema", "clients")} == {
        "config": "IL-CONFIG-01",
        "folder": "IL-DATA-01",
        "lock": "IL-DATA-02",
        "database": "IL-DATA-03",
        "schema": "IL-DATA-04",
        "clients": "IL-CLIENT-01",
    }
