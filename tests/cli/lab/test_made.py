"""Files that the lab writes: nothing is written over unasked, and no secret gets into one."""

from pathlib import Path

import pytest

from interlock.cli.lab.made import check_shareable, free, write
from interlock.cli.lab.target import Wanted
from interlock.errors import InterlockError


def test_where_nothing_is_may_be_written() -> None:
    Path("empty").mkdir()
    free(Path("empty"), force=False)
    free(Path("nowhere"), force=False)


@pytest.mark.parametrize("name", ["file", "folder", "link"])
def test_what_is_there_is_written_over_only_by_force(name: str) -> None:
    Path("file").write_text("mine", encoding="utf-8")
    Path("folder/mine").mkdir(parents=True)
    Path("link").symlink_to("nowhere")
    free(Path(name), force=True)
    with pytest.raises(InterlockError) as taken:
        free(Path(name), force=False)

    assert "--force" in taken.value.reason.fix


def test_a_file_is_written_with_the_folders_that_it_needs() -> None:
    write(Path("a/b/c.txt"), "text")

    assert Path("a/b/c.txt").read_text(encoding="utf-8") == "text"
    assert list(Path("a/b").iterdir()) == [Path("a/b/c.txt")]


def test_where_nothing_can_be_written_it_is_told() -> None:
    Path("file").write_text("mine", encoding="utf-8")
    with pytest.raises(InterlockError) as failed:
        write(Path("file/below"), "text")

    assert "cannot be written" in failed.value.reason.text


@pytest.mark.parametrize(
    "target",
    [
        Wanted(argv=("serve", "--password=hunter2-hunter2")),
        Wanted(argv=("serve", "--api-key", "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789")),
        Wanted(url="https://user:hunter2hunter2@host/mcp"),
    ],
)
def test_a_target_with_a_secret_in_it_is_not_written_down(target: Wanted) -> None:
    with pytest.raises(InterlockError) as refused:
        check_shareable(target)

    assert "hunter2" not in refused.value.reason.text
    assert "${env:NAME}" in refused.value.reason.fix


@pytest.mark.parametrize(
    "target", [Wanted(server="up"), Wanted(argv=("npx", "-y", "@a/b")), Wanted(url="https://h/mcp")]
)
def test_a_target_without_one_is(target: Wanted) -> None:
    check_shareable(target)
