"""The data folder: one who works in it, an address for the others, a credential for the operator."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from interlock.store.folder import CREDENTIAL, LOCK, DataFolder, FolderBusy

HOLDER = """
import sys, time
from pathlib import Path
from interlock.store.folder import DataFolder
with DataFolder(Path(sys.argv[1])).hold() as hold:
    hold.announce("http://127.0.0.1:1")
    print("held", flush=True)
    sys.stdin.read()
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_folder_is_held_by_one(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")

    with folder.hold(), pytest.raises(FolderBusy) as caught, folder.hold():
        pass

    assert caught.value.address is None
    with folder.hold():
        pass


def test_who_finds_it_held_learns_where_the_holder_listens(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)

    with folder.hold() as hold:
        hold.announce("http://127.0.0.1:65000/and-more")
        hold.announce("http://127.0.0.1:7373")
        with pytest.raises(FolderBusy) as caught, folder.hold():
            pass

    assert caught.value.address == "http://127.0.0.1:7373"


def test_a_holder_that_no_longer_listens_gives_no_address_and_still_holds(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)

    with folder.hold() as hold:
        hold.announce("http://127.0.0.1:7373")
        hold.withdraw()
        with pytest.raises(FolderBusy) as caught, folder.hold():
            pass

    assert (caught.value.address, folder.announced()) == (None, None)


def test_an_address_of_the_holder_before_is_never_given(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    with folder.hold() as hold:
        hold.announce("http://127.0.0.1:7373")

    with folder.hold(), pytest.raises(FolderBusy) as caught, folder.hold():
        pass

    assert caught.value.address is None


@pytest.mark.parametrize(
    "left", ["{dead} http://127.0.0.1:1", "http://127.0.0.1:1", "9" * 30 + " x", "{dead}", "\xff 1"]
)
def test_an_address_of_a_process_that_is_gone_does_not_count(tmp_path: Path, left: str) -> None:
    """As between the moment that a new holder has the lock and the moment that it empties the file."""
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    folder = DataFolder(tmp_path)
    with folder.hold():
        (tmp_path / LOCK).write_text(left.format(dead=ended.pid), encoding="latin-1")
        with pytest.raises(FolderBusy) as caught, folder.hold():
            pass

    assert caught.value.address is None


def test_where_a_living_process_listens_can_be_looked_up(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    before = folder.announced()
    with folder.hold() as hold:
        hold.announce("http://127.0.0.1:7373")
        during = folder.announced()

    assert (before, during) == (None, "http://127.0.0.1:7373")


def test_a_killed_holder_lets_go(tmp_path: Path) -> None:
    argv = [sys.executable, "-c", HOLDER, str(tmp_path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(FolderBusy), DataFolder(tmp_path).hold():
            pass
        holder.send_signal(signal.SIGKILL)
        holder.wait()

        with DataFolder(tmp_path).hold():
            assert (tmp_path / LOCK).read_text() == ""


def test_folder_lock_and_credential_are_the_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        folder = DataFolder(tmp_path / "data")
        with folder.hold():
            folder.keep_credential("il_a_b")
    finally:
        os.umask(before)

    assert mode(tmp_path / "data") == 0o700
    assert mode(tmp_path / "data" / LOCK) == 0o600
    assert mode(tmp_path / "data" / CREDENTIAL) == 0o600


def test_the_credential_is_what_was_kept_last(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path)
    assert folder.credential() is None

    folder.keep_credential("il_a_b")
    folder.keep_credential("il_c_d")

    assert folder.credential() == "il_c_d"
    assert sorted(path.name for path in tmp_path.iterdir()) == [CREDENTIAL]


def test_a_lock_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("keep me")
    (tmp_path / LOCK).symlink_to(tmp_path / "precious")

    with pytest.raises(OSError, match="symbolic"), DataFolder(tmp_path).hold():
        pass

    assert (tmp_path / "precious").read_text() == "keep me"


def test_a_credential_half_written_before_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "operator.new").write_text("il_half")

    DataFolder(tmp_path).keep_credential("il_a_b")

    assert DataFolder(tmp_path).credential() == "il_a_b"


@pytest.mark.parametrize(
    ("content", "abandoned"),
    [("", False), (f"{os.getpid()} http://127.0.0.1:1", False), (f"{2**22 + 1} http://127.0.0.1:1", True), ("x", True)],
)
def test_what_a_process_left_that_is_gone_can_be_told(tmp_path: Path, content: str, *, abandoned: bool) -> None:
    assert DataFolder(tmp_path).was_abandoned() is False
    (tmp_path / LOCK).write_text(content)

    assert DataFolder(tmp_path).was_abandoned() is abandoned
    assert (tmp_path / LOCK).read_text() == content


def test_whoever_leaves_in_order_leaves_no_address_behind(tmp_path: Path) -> None:
    with DataFolder(tmp_path).hold() as hold:
        hold.announce("http://127.0.0.1:1")

    assert (tmp_path / LOCK).read_text() == ""


def test_the_key_of_the_marks_is_made_once_and_is_the_owners_alone(tmp_path: Path) -> None:
    key = DataFolder(tmp_path).mark_key()

    assert len(key) == 32
    assert DataFolder(tmp_path).mark_key() == key
    assert (tmp_path / "marks.key").stat().st_mode & 0o777 == 0o600


def test_a_key_that_is_broken_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "marks.key").write_bytes(b"short")

    assert len(DataFolder(tmp_path).mark_key()) == 32


RUN = "066069794aac024241f1083be2c2fe"


@pytest.mark.parametrize(
    ("path", "is_of_a_run"),
    [
        (f"data/lab/{RUN}", True),
        (f"data/lab/{RUN}/../{RUN}", True),
        ("lab", False),
        ("lab/data", False),
        (f"lab/{RUN}/data", False),
        (f"data/{RUN}", False),
        (f"data/lab/{RUN}0", False),
    ],
)
def test_the_folder_of_a_run_is_known_by_its_place_and_its_name(
    tmp_path: Path, path: str, *, is_of_a_run: bool
) -> None:
    assert DataFolder(tmp_path / path).is_of_a_run is is_of_a_run


def test_a_run_is_known_from_inside_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inside = tmp_path / "lab" / RUN
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)

    assert DataFolder(Path()).is_of_a_run


def test_the_key_of_the_marks_of_a_run_is_not_kept(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "lab" / RUN)
    folder.path.mkdir(parents=True)
    one, other = folder.mark_key(), folder.mark_key()

    assert (len(one), one == other) == (32, False)
    assert list(folder.path.iterdir()) == []


# The chain ------------------------------------------------------------------------------------------------------
def test_the_chain_of_a_folder_is_its_own_and_stays(tmp_path: Path) -> None:
    one, other = DataFolder(tmp_path / "one"), DataFolder(tmp_path / "other")
    for each in (one, other):
        each.path.mkdir()

    assert one.chain() == DataFolder(one.path).chain()
    assert one.chain() != other.chain()
    assert stat.S_IMODE((one.path / "chain.id").stat().st_mode) == 0o600


def test_a_chain_that_was_cut_short_is_made_anew(tmp_path: Path) -> None:
    (tmp_path / "chain.id").write_text("abc")

    assert len(DataFolder(tmp_path).chain()) == 16
