"""The kinds of findings are words that people and CI rely on."""

from interlock.lab.model import Severity
from interlock.lab.probing import findings
from interlock.lab.scan.kinds import Kind

KINDS = [each for each in vars(findings).values() if isinstance(each, Kind)]
HIGH, MEDIUM, LOW, INFO = Severity


def test_the_codes_and_how_grave_they_are_stay_as_they_are() -> None:
    assert {each.code: each.severity for each in KINDS} == {
        "crash": HIGH,
        "hang": HIGH,
        "protocol-error": HIGH,
        "annotation-lie": HIGH,
        "nothing-works": HIGH,
        "stray-output": LOW,
        "output-schema": MEDIUM,
        "accepts-invalid": MEDIUM,
        "unstable": MEDIUM,
        "oversize": MEDIUM,
        "volatile": INFO,
        "error-on-valid": LOW,
        "slow": LOW,
        "no-arguments": LOW,
        "description-missing": LOW,
        "description-shared": LOW,
        "description-short": INFO,
        "parameters-undescribed": INFO,
    }


def test_every_kind_says_what_it_is_and_what_to_do() -> None:
    assert all(each.text.endswith(".") and each.fix.endswith(".") for each in KINDS)
