"""What REST shows of the lab."""

from pathlib import Path

from msgspec.structs import replace

from interlock.lab.archive import Archive
from interlock.lab.model import Finding, Severity
from interlock.lab.run import REPORT, RunFolder
from tests.lab.runs import a_run
from tests.web.office import Office


def keep(office: Office, folder: Path, run_id: str = "0001", said: str = "fine") -> Path:
    office.parts.archive = Archive(folder)
    finding = Finding("odd", Severity.HIGH, said, "echo", evidence={"answer": said})
    return RunFolder.make(folder, run_id).keep(replace(a_run(), id=run_id, findings=[finding]))


async def test_where_nothing_was_tried_the_list_is_empty(bare: Office) -> None:
    assert await bare.get("/lab/runs", "auditor") == {"items": [], "total": 0, "unreadable": 0}


async def test_runs_are_listed_and_each_is_shown_whole(bare: Office, tmp_path: Path) -> None:
    keep(bare, tmp_path)
    listed = await bare.get("/lab/runs", "auditor")
    shown = await bare.get("/lab/runs/0001", "auditor")

    assert [(each["id"], each["findings"]) for each in listed["items"]] == [("0001", {"high": 1})]
    assert (shown["target"], len(shown["plan"]), len(shown["calls"])) == ("notes", 4, 24)
    assert shown["findings"][0]["evidence"] == {"answer": "fine"}


async def test_a_run_that_is_not_there_or_broken_is_not_found(bare: Office, tmp_path: Path) -> None:
    keep(bare, tmp_path).write_bytes(b"{}")

    for each in ("0001", "0002", "..%2F0001", "%2E%2E"):
        assert (await bare.ask("GET", f"/lab/runs/{each}")).status_code == 404
    assert (await bare.get("/lab/runs"))["unreadable"] == 1


async def test_a_secret_that_a_server_repeated_is_not_shown(bare: Office, tmp_path: Path) -> None:
    bare.parts.hidden = {"swordfish-and-more"}
    keep(bare, tmp_path, said="it is swordfish-and-more")

    answers = [await bare.get("/lab/runs"), await bare.get("/lab/runs/0001")]
    assert "swordfish" not in str(answers)


async def test_a_report_is_never_served_as_a_page(bare: Office, tmp_path: Path) -> None:
    report = keep(bare, tmp_path, said="<script>alert(1)</script>")
    report.with_name("report.html").write_text("<script>alert(1)</script>", encoding="utf-8")

    answer = await bare.ask("GET", "/lab/runs/0001")
    assert answer.headers["content-type"] == "application/json"
    for each in ("report.html", REPORT):
        assert (await bare.ask("GET", f"/lab/runs/0001/{each}")).status_code == 404
