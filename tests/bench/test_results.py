"""Verdicts on figures that are made up: what is missed, wrong or absent is never called reached."""

from calling import LEGACY, Calls
from measuring import Figures, Row, Table, Taken
from results import Verdict, judged, tables

OWN = ("direct", "ours")
RATES = {
    "direct": 30_000.0, "bare": 9_000.0, "ours": 6_000.0, "ours, record.wait all": 3_000.0,
    "ours, stdio upstream": 5_000.0, "ours, read-only": 6_500.0, "sdk": 250.0, "quick": 1_000.0, "contextforge": 15.0,
}  # fmt: skip


def made_up(**rates: float) -> tuple[list[Row], Table]:
    rows = [Row(name + era, name, Calls(LEGACY) if era else Calls()) for name in RATES for era in ("", ", legacy")]
    table: Table = {}
    for row in rows:
        rate = rates.get(row.target, RATES[row.target])
        for callers in row.callers:
            table[row.name, callers] = Taken([Figures(rate, 0.4, 1.0, 120.0, 100.0, 0.01, 0)])
    return rows, table


def verdicts(rows: list[Row], table: Table) -> list[Verdict]:
    return judged(rows, table, OWN, ("quick", "contextforge"))


def missed(rows: list[Row], table: Table) -> list[str]:
    return [f"{each.goal}, {each.wanted}" for each in verdicts(rows, table) if not each.reached]


def test_all_goals_are_reached_by_figures_that_reach_them() -> None:
    assert missed(*made_up()) == []


def test_the_fastest_peer_is_the_one_that_counts() -> None:
    assert "at least 5 times quick" in [each.wanted for each in verdicts(*made_up())]
    assert missed(*made_up(quick=1_300.0)) == ["90 % read-only mix, default settings, at least 5 times quick"]
    assert any("at least 5 times sdk" in each for each in missed(*made_up(sdk=1_300.0)))


def test_the_slower_era_counts() -> None:
    rows, table = made_up()
    table["ours, legacy", 32] = Taken([Figures(4_000.0, 0.4, 1.0, 160.0, 100.0, 0.01, 0)])

    assert len(missed(rows, table)) == 5


def test_a_goal_without_its_figures_is_missed() -> None:
    rows, table = made_up()
    table["contextforge, legacy", 32] = Taken([], ["does not listen"])

    assert [each.seen for each in verdicts(rows, table) if not each.reached] == ["not measured"]


def test_one_wrong_answer_of_ours_fails_the_run_and_one_of_a_peer_does_not() -> None:
    rows, table = made_up()
    table["quick", 1].problems.append("a wrong answer")
    assert missed(rows, table) == []

    table["ours", 1].problems.append("a wrong answer")
    assert len(missed(rows, table)) == 1


def test_a_peer_that_failed_is_a_row_with_its_last_words_and_without_paths_of_the_machine() -> None:
    rows, table = made_up()
    table["quick", 32] = Taken([], ['does not listen: File "/home/me/tools/quick/main.py", line 3 | no module'])

    (many, _) = tables(rows, table)

    assert '| quick | 2026-07-28 | failed: does not listen: File "…/main.py", line 3 / no module |' in many
    assert "/home" not in many
