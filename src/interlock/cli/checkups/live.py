"""What `interlock doctor` asks the gateway: how its servers, tools, tokens, notices, approvals, stops, seals and issuer
are.

A gateway that runs is asked as it is; if none runs, one is started for the occasion, with its servers.
"""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from interlock import errors
from interlock.cli.checkups.checkup import FAIL, OK, WARN, Check
from interlock.cli.gateway import Api
from interlock.cli.render import counted
from interlock.receive.reach import Ask, Reach, Unreachable

SOON = 7 * 86_400_000_000
"""A token that expires within this time is about to."""
_SHOWN = 5
_OPERATOR = "operator"
_AGAIN = "It is tried again by itself."
_LIVE = ("servers", "tools", "tokens", "issuer", "notices", "approvals", "freezes", "seals", "store")


async def live_checks(api: Api, now: int, *, holds: bool) -> list[Check]:
    """The checks that need a gateway. `holds` says that calls come to it which may be held."""
    servers = (await api.get("servers"))["items"]
    tools = (await api.get("tools"))["items"]
    tokens = (await api.get("tokens"))["items"]
    notices = await api.get("notices")
    settings = await api.get("settings")
    return [
        servers_check(servers),
        tools_check(tools),
        tokens_check(tokens, now),
        issuer_check(settings["identity"]),
        notices_check(notices),
        approvals_check(await api.get("approvals", "metrics", since="1h"), holds=holds),
        freezes_check((await api.get("freezes"))["items"]),
        seals_check(await api.get("audit", "checkpoints")),
        store_check(settings["readiness"]["checks"]),
    ]


def unchecked(why: str) -> list[Check]:
    """The same checks when no gateway can be asked."""
    return [Check(name, WARN, f"Not checked: {why}", "See above.") for name in _LIVE]


async def dashboard_check(reach: Reach) -> Check:
    """Whether a browser would get the dashboard of this program from a gateway that runs."""
    from interlock.web.dashboard import POLICY

    fix = "End that gateway and start it again with this program: `interlock serve`."
    try:
        async with reach.ask(Ask("GET", "/", {"accept": "text/html"})) as response:
            await response.whole()
    except Unreachable as gone:
        return Check("dashboard", FAIL, f"It cannot be reached: {gone or 'no answer'}.", fix)
    if response.status != 200:
        return Check("dashboard", FAIL, f"It answers with {response.status}.", fix)
    if response.headers.get("content-security-policy") != POLICY:
        told = "What is served comes without the policy of this program: the gateway is of another version."
        return Check("dashboard", WARN, told, fix)
    return Check("dashboard", OK, "It is served; `interlock open` signs a browser in.")


def servers_check(servers: Sequence[Mapping[str, Any]]) -> Check:
    wanted = [each for each in servers if each["enabled"] or each["health"] == "down"]
    failing = [each for each in wanted if each["health"] != "ready"]
    lossy = [f"{each['id']}: {problem_of(each)}" for each in wanted if each["left_out"]]
    if lossy and not failing:
        fix = "Nobody can call these; ask the author of the server to mend its list."
        return Check("servers", WARN, "; ".join(lossy[:_SHOWN]), fix)
    if not failing:
        tools = sum(each["tools"] for each in wanted)
        return Check("servers", OK, f"{counted(len(wanted), 'server')} ready, with {counted(tools, 'tool')}.")
    told = [f"{each['id']} is {each['health']}: {each['problem'] or 'no reason yet'}" for each in failing[:_SHOWN]]
    told += [f"{each['id']} is {each['health']}" for each in failing[_SHOWN:]]
    return Check("servers", FAIL, "; ".join(told), " ".join(fixes(failing)))


def problem_of(server: Mapping[str, Any]) -> str:
    """What is wrong with a server: why it is down, what of its list was left out, and what is kept from everybody."""
    told = [server["problem"], *(each["text"] for each in server["left_out"])]
    if server["poisoned"]:
        told.append(f"{counted(server['poisoned'], 'tool')} quarantined for signs of poison")
    return "; ".join(each for each in told if each)


_FIXES = {
    "stdio": "`interlock server logs {id}` shows what it wrote. Correct its command, then "
    "`interlock server restart {id}`.",
    "http": "Start what should answer there, or correct its url. It is tried again by itself.",
}
"""What to do about a server that does not work, by how it is reached."""
_HAS_ITS_FIX = "`interlock server restart"


def fixes(failing: Sequence[Mapping[str, Any]]) -> list[str]:
    """What to do about each of these servers, unless its problem says so already."""
    return [
        f"{each['id']}: {_FIXES[each['transport']].format(id=each['id'])}"
        for each in failing
        if _HAS_ITS_FIX not in each["problem"]
    ]


def tools_check(tools: Sequence[Mapping[str, Any]]) -> Check:
    poisoned = [each["name"] for each in tools if each["standing"] == "poisoned"]
    unreviewed = [each["name"] for each in tools if each["standing"] not in ("known", "poisoned")]
    unknown = [each["name"] for each in tools if each["safety_class"] == "unknown" and each["standing"] != "poisoned"]
    told: list[str] = []
    fix: list[str] = []
    if poisoned:
        told.append(f"{counted(len(poisoned), 'tool')} quarantined for signs of poison: {_some(poisoned)}")
        fix.append(f"Read what was found: `interlock tool show {_word(poisoned[0])}`. Nobody sees or calls these.")
    if unreviewed:
        told.append(f"{counted(len(unreviewed), 'tool')} not as reviewed would be held or blocked: {_some(unreviewed)}")
        fix.append(f"Look at `interlock tool diff {_word(unreviewed[0])}`, then trust it: `interlock tool trust`.")
    if unknown:
        told.append(f"{counted(len(unknown), 'tool')} of unknown class would be held or denied: {_some(unknown)}")
        fix.append(f"Set a class: `interlock tool override {_word(unknown[0])} CLASS`, or trust its annotations.")
    if not told:
        return Check("tools", OK, "Every tool has a class and is as it was reviewed.")
    return Check("tools", WARN, "; ".join(told) + ".", " ".join(fix))


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (", …" if len(names) > _SHOWN else "")


def _word(name: str) -> str:
    """A name as one word for a shell: a server chooses it, and somebody may paste the command."""
    return shlex.quote(name)


def tokens_check(tokens: Sequence[Mapping[str, Any]], now: int) -> Check:
    from interlock.web.times import time_of

    alive = [each for each in tokens if each["revoked_at"] is None]
    ends = {each["id"]: time_of(each["expires_at"]) for each in alive if each["expires_at"] is not None}
    problems = [f"'{each['name']}' has expired" for each in alive if ends.get(each["id"], now + 1) <= now]
    problems += [f"'{each['name']}' expires soon" for each in alive if now < ends.get(each["id"], 0) <= now + SOON]
    problems += [f"'{each['name']}' is an admin for ever" for each in alive if _is_admin_for_ever(each)]
    if problems:
        fix = "`interlock token list` shows them; revoke what nobody needs and make new ones with --ttl."
        return Check("tokens", WARN, "; ".join(problems[:_SHOWN]), fix)
    return Check("tokens", OK, f"{counted(len(alive), 'token')} in use, none about to expire.")


def _is_admin_for_ever(token: Mapping[str, Any]) -> bool:
    return "admin" in token["roles"] and token["expires_at"] is None and token["name"] != _OPERATOR


def issuer_check(issuer: Mapping[str, Any] | None) -> Check:
    """Whether the keys with which tokens of the issuer are checked can be fetched."""
    if issuer is None:
        return Check("issuer", OK, "None is named; only tokens of this gateway are accepted.")
    if issuer["problem"] is None:
        return Check("issuer", OK, f"{counted(issuer['keys'], 'key')} of {issuer['issuer']} known.")
    told = f"The keys of {issuer['issuer']} cannot be fetched: {issuer['problem']}."
    fix = "Correct identity.jwt.jwks_url, or see that it can be reached from here. It is tried again by itself."
    if issuer["keys"]:
        return Check("issuer", WARN, f"{told} Those that were fetched before are still used.", fix)
    return Check("issuer", FAIL, f"{told} None of its tokens is accepted.", fix)


def notices_check(notices: Mapping[str, Any]) -> Check:
    problems = notices["problems"][:_SHOWN]
    if problems:
        fix = dict.fromkeys(each["fix"] for each in problems)
        return Check("notices", FAIL, " ".join(each["text"] for each in problems), " ".join(fix))
    if not notices["configured"]:
        return Check("notices", OK, "Nobody outside is told of approvals; `notices` in the configuration names who is.")
    return Check("notices", OK, "Nobody who is to be told of approvals fails to be reached.")


def approvals_check(figures: Mapping[str, Any], *, holds: bool) -> Check:
    """Whether somebody would notice a call that is held."""
    waiting = f"{counted(figures['pending'], 'call')} waiting for approval"
    if not holds:
        return Check("approvals", OK, f"Nothing is held now; {waiting}.")
    if figures["listening"]:
        return Check("approvals", OK, f"Somebody listens for calls that are held; {waiting}.")
    fix = "Let `interlock approval watch` run, or configure `notices`."
    return Check("approvals", WARN, f"Calls can be held, and nobody listens for them; {waiting}.", fix)


def freezes_check(freezes: Sequence[Mapping[str, Any]]) -> Check:
    """Whether calls are refused because somebody stopped them, and maybe forgot."""
    if not freezes:
        return Check("freezes", OK, "Nothing is frozen.")
    told = [f"{_frozen(each)} by {each['by']}" for each in freezes[:_SHOWN]]
    more = ", …" if len(freezes) > _SHOWN else ""
    fix = f"`{_thaw(freezes[0])}` lets calls pass again, when they may."
    return Check("freezes", WARN, f"Calls are refused: {', '.join(told)}{more}.", fix)


def _frozen(freeze: Mapping[str, Any]) -> str:
    kind: str = freeze["kind"]
    return "everything is frozen" if kind == "all" else f"{kind} '{freeze[kind]}' is frozen"


def _thaw(freeze: Mapping[str, Any]) -> str:
    kind: str = freeze["kind"]
    return "interlock thaw" if kind == "all" else f"interlock thaw --{kind} {_word(freeze[kind])}"


def store_check(checks: Sequence[Mapping[str, Any]]) -> Check:
    """Whether the gateway can write down what happens: without that, calls are refused."""
    found = next(each for each in checks if each["name"] == "store")
    if found["ok"]:
        return Check("store", OK, found["text"])
    told = f"{found['text']} Calls that need a record are refused."
    fix = "See that the database answers and can be written to, and that its disk has room."
    return Check("store", FAIL, told, f"{fix} {_AGAIN}")


def seals_check(listed: Mapping[str, Any]) -> Check:
    """Whether the log is sealed, and whether the seals are kept elsewhere too."""
    if listed["disagreement"]:
        fix = "`interlock audit verify` looks closer. Keep a copy of the folder and of the anchor before anything else."
        return Check("seals", FAIL, listed["disagreement"], fix)
    if listed["problem"]:
        fix = "See that the database can be written to, the folder of the anchor is there, and seal.key can be used."
        return Check("seals", FAIL, f"The log cannot be sealed: {listed['problem']}.", f"{fix} {_AGAIN}")
    if not listed["anchor"]:
        return Check("seals", OK, errors.RUN_NOT_SEALED().text)
    sealed = max((each["seq"] for each in listed["items"]), default=0)
    told = f"The log is sealed up to record {sealed} of {listed['end']}" if sealed else "Nothing is sealed yet"
    if not listed["elsewhere"]:
        aside = "the seals lie beside the log; `record.anchor` puts them where a thief of this folder does not reach"
        return Check("seals", OK, f"{told}; {aside}.")
    return Check("seals", OK, f"{told}; the seals are kept in {listed['anchor']} too.")
