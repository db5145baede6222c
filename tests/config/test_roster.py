"""The servers of the file and those that were added: together, kept, and on record."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from interlock.config.load import Config
from interlock.config.roster import ADDED, SWITCHED, Roster
from interlock.errors import Conflict, InterlockError
from interlock.store.protocol import Activity, ActivityFilter, ActivityType
from interlock.store.sql import SqlStore
from tests.fakes import FakeClock
from tests.running import config_of
from tests.store.examples import TickingClock
from tests.stores import store_of

FILE = """
servers:
  files: {command: prog, namespace: fs}
  off: {command: prog, enabled: false}
"""
NEW: dict[str, Any] = {"command": "npx", "args": ["-y", "x"], "env": {"TOKEN": "${env:GH}"}}


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Place:
    """A store, and rosters over it as after a restart."""

    def __init__(self, folder: Path, store: SqlStore) -> None:
        self.folder = folder
        self.store = store
        self.applied: list[tuple[list[str], Sequence[str]]] = []

    async def roster(self, text: str = FILE) -> Roster:
        roster = Roster(config_of(self.folder, text), self.store, TickingClock())
        await roster.load()

        async def apply(config: Config, anew: Sequence[str]) -> None:
            enabled = [name for name, each in config.settings.servers.items() if each.enabled]
            self.applied.append((enabled, anew))

        roster.on_change = apply
        return roster

    async def told(self) -> list[Activity]:
        page = await self.store.list_activities(ActivityFilter(types=(ActivityType.SERVER_CHANGE,)))
        return list(reversed(page.items))


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    store = store_of(tmp_path, FakeClock(1))
    await store.start()
    yield Place(tmp_path, store)
    await store.close()


def names(roster: Roster) -> dict[str, bool]:
    return {each.id: each.enabled for each in roster.entries()}


async def test_a_server_that_is_added_runs_at_once_and_after_a_restart(place: Place) -> None:
    await (await place.roster()).add("git-hub", NEW, "alice")

    assert place.applied == [(["files", "git-hub"], ())]
    again = await place.roster()
    assert names(again) == {"files": True, "off": False, "git-hub": True}
    assert again.config.settings.servers["git-hub"].env == {"TOKEN": "${env:GH}"}
    assert [each.added for each in again.entries()] == [False, False, True]


async def test_every_change_is_on_record_with_who_made_it_and_without_a_secret(place: Place) -> None:
    roster = await place.roster()
    await roster.add("new", NEW, "alice")
    await roster.switch("new", False, "bob")
    await roster.switch("new", True, "bob")
    await roster.restart("new", "bob")
    await roster.remove("new", "carol")

    told = await place.told()
    assert [(each.body["change"], each.body["by"], each.server) for each in told] == [
        ("added", "alice", "new"),
        ("disabled", "bob", "new"),
        ("enabled", "bob", "new"),
        ("restarted", "bob", "new"),
        ("removed", "carol", "new"),
    ]
    assert "GH" not in str(told[0].body)


async def test_a_server_of_the_file_stays_switched_off_after_a_restart(place: Place) -> None:
    roster = await place.roster()
    await roster.switch("files", False, "me")
    await roster.switch("off", True, "me")

    assert names(await place.roster()) == {"files": False, "off": True}
    assert place.applied[-1][0] == ["off"]


async def test_what_was_changed_while_it_ran_is_said_to_stand_in_no_file(place: Place) -> None:
    roster = await place.roster()
    await roster.add("new", NEW, "me")
    await roster.switch("files", False, "me")

    config = roster.config
    assert config.origin(("servers", "new", "env", "TOKEN")) == ADDED
    assert config.origin(("servers", "new", "cwd")) == "default"
    assert config.origin(("servers", "files", "enabled")) == SWITCHED


async def test_switching_to_what_it_is_changes_nothing(place: Place) -> None:
    await (await place.roster()).switch("files", True, "me")

    assert place.applied == []
    assert await place.told() == []


@pytest.mark.parametrize(("server", "where"), [("files", "in the configuration file"), ("new", "among those")])
async def test_an_id_that_exists_is_refused_with_where_it_is(place: Place, server: str, where: str) -> None:
    roster = await place.roster()
    await roster.add("new", NEW, "me")
    with pytest.raises(Conflict, match=where):
        await roster.add(server, NEW, "me")


async def test_one_that_another_gateway_has_added_meanwhile_is_there_already_and_taken_up(place: Place) -> None:
    one, other = await place.roster(), await place.roster()
    await one.add("new", NEW, "operator")
    with pytest.raises(Conflict, match="There is a server 'new' already, among those that were added"):
        await other.add("new", {**NEW, "command": "another"}, "operator")

    assert other.config.settings.servers["new"].command == "npx"
    assert [each.body["change"] for each in await place.told()] == ["added"]


async def test_a_switch_of_one_that_stands_in_the_file_no_more_keeps_nobody_from_adding_one_of_its_name(
    place: Place,
) -> None:
    await (await place.roster()).switch("files", False, "operator")
    later = await place.roster("servers: {}")
    await later.add("files", NEW, "operator")

    assert later.config.settings.servers["files"].command == "npx"


async def test_an_id_of_the_file_wins_over_one_that_was_added_before(place: Place) -> None:
    before = await place.roster()
    await before.add("new", NEW, "me")
    await before.switch("new", False, "me")
    roster = await place.roster("servers: {new: {command: other}}")

    assert roster.config.settings.servers["new"].command == "other"
    assert names(roster) == {"new": True}
    assert [each.added for each in roster.entries()] == [False]


async def test_what_was_added_and_no_longer_fits_stays_out_with_the_reason(place: Place) -> None:
    await (await place.roster()).add("new", {**NEW, "namespace": "mine"}, "me")
    roster = await place.roster("servers: {other: {command: prog, namespace: mine}}")
    (other, new) = roster.entries()

    assert (other.id, other.problem) == ("other", "")
    assert "namespace 'mine' is already taken by server 'other'" in new.problem
    assert list(roster.config.settings.servers) == ["other"]
    with pytest.raises(Conflict, match="does not fit"):
        await roster.switch("new", True, "me")
    await roster.remove("new", "me")
    assert names(await place.roster()) == {"files": True, "off": False}


async def test_a_server_of_the_file_is_not_removed(place: Place) -> None:
    with pytest.raises(Conflict, match="configuration file, which Interlock never writes"):
        await (await place.roster()).remove("files", "me")


async def test_a_server_that_is_off_is_not_restarted(place: Place) -> None:
    with pytest.raises(Conflict, match="is switched off"):
        await (await place.roster()).restart("off", "me")


async def test_only_the_server_that_is_restarted_is_started_anew(place: Place) -> None:
    await (await place.roster()).restart("files", "me")

    assert place.applied == [(["files"], ("files",))]


async def test_an_unknown_server_is_answered_with_the_nearest(place: Place) -> None:
    roster = await place.roster()
    for change in (roster.remove("filse", "me"), roster.switch("filse", True, "me"), roster.restart("filse", "me")):
        with pytest.raises(InterlockError, match="Did you mean 'files'"):
            await change


@pytest.mark.parametrize(
    ("server", "definition", "problem"),
    [
        ("Bad Id", NEW, "id: must be lower-case"),
        ("new", {}, "needs either 'command' or 'url'"),
        ("new", {"command": "a", "url": "http://h/"}, "not both"),
        ("new", {"url": "ftp://h"}, "url: must begin with http"),
        ("new", {"command": "a", "comand": "b"}, "did you mean 'command'"),
        ("new", {"command": 5}, "command: "),
        ("new", {"command": "a", "env": {"A": "${env:}"}}, "env.A: has a malformed reference"),
        ("new", {"command": "a", "namespace": "fs"}, "already taken by server 'files'"),
        ("new", {"command": "a", "auth_scope_id": "none"}, "unknown auth scope"),
        ("interlock", {"command": "a"}, "reserved"),
        ("new", {"command": "a", "env": {"TOKEN": "hunter2hunter2"}}, "env.TOKEN: this looks like a secret"),
    ],
)
async def test_a_definition_that_cannot_be_used_is_refused_and_nothing_changes(
    place: Place, server: str, definition: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InterlockError, match=problem) as refused:
        await (await place.roster()).add(server, definition, "me")

    assert "hunter2" not in refused.value.reason.text
    assert place.applied == []
    assert await place.told() == []
    assert await place.store.kept_servers() == {}


# Other gateways -------------------------------------------------------------------------------------------------


async def test_what_another_gateway_changed_is_taken_up_and_only_that(place: Place) -> None:
    here, there = await place.roster(), await place.roster()
    await there.add("new", NEW, "operator")
    place.applied.clear()
    await here.follow()
    await here.follow()

    assert place.applied == [(["files", "new"], ())]
