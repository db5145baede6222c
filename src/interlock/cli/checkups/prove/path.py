"""Proofs about the path of a call: what is denied, held, frozen, changed or new does not leave."""

import contextlib
import sqlite3
from collections.abc import AsyncGenerator

from interlock.cli.checkups.prove.copy import NEW, UNKNOWN, described
from interlock.cli.checkups.prove.passing import passing
from interlock.cli.checkups.prove.proof import Broken, NotApplicable, Proof
from interlock.cli.checkups.prove.sandbox import START_SECONDS, Agent, Sandbox, Saw, Target
from interlock.cli.render import counted
from interlock.core.model import JsonObject
from interlock.core.safety import Effect, SafetyClass
from interlock.store.sqlite import PATIENCE, READER_PRAGMAS, connect

_MOST = 20
"""How many denied calls are made."""
_NAMED = 3
"""How many tools are named where there are more."""
_NOWHERE = "no-server-has-this-name"
_DENIALS = ("DENIED_BY_RULE", "UNKNOWN_CLASS")
"""The codes of what a rule or a posture denies; other refusals are not theirs."""
_ON_RECORD = "SELECT count(*) FROM activity WHERE server = ? AND tool = ? AND caller = ? AND status = 'sent'"
_ENTRIES = "SELECT count(*) FROM entry"


async def _refused(box: Sandbox, agent: Agent, target: Target, why: str) -> Saw:
    """Make a call that must not leave."""
    before = box.sends()
    saw = await agent.call(target)
    if box.sends() != before or saw.code is None:
        raise Broken(f"A call of {target.shown} reached its server although {why}.")
    return saw


async def denied(box: Sandbox) -> str:
    """A rule may deny only some arguments or callers: those that no call here met are named."""
    targets = [each for each in box.targets if each.verdict == "deny" and each.codes[0] in _DENIALS]
    met = {each.ground for each in targets}
    denying = [each.rule.id for each in box.rules.rules if each.rule.effect is Effect.DENY]
    unmet = ", ".join(each for each in denying if each not in met)
    if not targets:
        but = f"; no call here met {unmet}" if unmet else ""
        raise NotApplicable(f"no call that was tried is denied by a rule or a posture{but}")
    agent = await box.agent()
    for each in targets[:_MOST]:
        saw = await _refused(box, agent, each, f"{each.ground} denies it")
        if saw.code not in _DENIALS:
            raise Broken(f"{each.shown} was refused with {saw.code}, and not because {each.ground} denies it.")
    tried = f"{counted(len(targets[:_MOST]), 'call')} that {', '.join(sorted(met))} denies: nothing sent."
    return f"{tried} Not tried, because no call here met it: {unmet}." if unmet else tried


async def out_of_reach(box: Sandbox) -> str:
    target = box.pick("allow", "hold")
    if target is None:
        raise NotApplicable("everything is denied under this configuration anyway")
    limited = await box.agent(servers=[_NOWHERE])
    saw = await _refused(box, limited, target, "its token does not reach that server")
    if saw.code != "UNKNOWN_TOOL":
        raise Broken(f"{target.shown} was refused with {saw.code}, and not because of the reach of the token.")
    return f"{target.shown} with a token for other servers: answered as if it did not exist, nothing sent."


async def held(box: Sandbox) -> str:
    target = box.held()
    agent, before = await box.agent(), box.sends()
    approval = await box.ask(agent, target)
    if box.sends() != before:
        raise Broken(f"{target.shown} reached its server while its approval was pending.")
    await box.approve(approval)
    if box.sends() != before:
        raise Broken(f"The approval alone sent {target.shown}.")
    saw = await agent.call(target, approval=approval)
    if box.sends() > before + 1:
        raise Broken(f"{target.shown} was sent {box.sends() - before} times.")
    if saw.code is not None:
        raise NotApplicable(f"the call was refused with {saw.code} after it was approved")
    return f"{target.shown} waited, and left once, after the approval."


async def recorded_ahead(box: Sandbox) -> str:
    target = box.pick("allow", above_read=True) or box.held()
    agent, found = await box.agent(), list[tuple[int, int]]()
    stand_in = box.stand_ins[target.server]

    def look(tool: str) -> None:
        with contextlib.closing(connect(box.data.database, PATIENCE, READER_PRAGMAS)) as connection:
            found.append(_rows(connection, target, agent))

    usual, stand_in.on_call = stand_in.on_call, look
    try:
        saw = await _made(box, agent, target)
    finally:
        stand_in.on_call = usual
    if not found:
        raise NotApplicable(f"the call was refused with {saw.code}")
    if found != [(1, found[0][1])] or not found[0][1]:
        raise Broken(f"{target.shown} arrived at its server before its record was on disk.")
    return f"When {target.shown} arrived, its record was in the database file, as sent and without an outcome."


def _rows(connection: sqlite3.Connection, target: Target, agent: Agent) -> tuple[int, int]:
    ((sent,),) = connection.execute(_ON_RECORD, (target.server, target.tool, agent.name)).fetchall()
    ((entries,),) = connection.execute(_ENTRIES).fetchall()
    return sent, entries


async def _made(box: Sandbox, agent: Agent, target: Target) -> Saw:
    """Make a call that is allowed, or becomes so by an approval."""
    if target.verdict == "allow":
        return await agent.call(target)
    approval = await box.ask(agent, target)
    await box.approve(approval)
    return await agent.call(target, approval=approval)


async def frozen(box: Sandbox) -> str:
    targets = [each for each in (box.pick("allow"), box.pick("hold")) if each is not None]
    if not targets:
        raise NotApplicable("everything is denied under this configuration anyway")
    agent = await box.agent()
    await box.api.post("freeze", body={})
    try:
        codes = {(await _refused(box, agent, each, "everything is frozen")).code for each in targets}
    finally:
        await box.api.post("thaw", body={})
    if codes != {"FROZEN"}:
        raise Broken(f"Calls were refused with {', '.join(map(str, codes))}, and not because of the stop.")
    return f"{', '.join(each.shown for each in targets)}: refused with FROZEN, nothing sent."


async def changed(box: Sandbox) -> str:
    """On one server of each trust and posture, and on the first of the user's."""
    live = [each for each in box.targets if each.verdict in ("allow", "hold")]
    first = {each.server: each for each in reversed(live) if each is live[0] or each.server in box.own}
    if not first:
        raise NotApplicable("everything is denied under this configuration anyway")
    for target in first.values():
        await _changed(box, target)
    shown = ", ".join(each.shown for each in first.values())
    return f"{shown} with another description: refused with QUARANTINED, nothing sent."


async def _changed(box: Sandbox, target: Target) -> None:
    was = box.stand_ins[target.server].tools
    now = [{**each, "description": "Now it does more."} if each["name"] == target.tool else each for each in was]
    agent = await box.agent()
    async with _listing(box, target.server, now):
        saw = await _refused(box, agent, target, "its definition had changed")
    if saw.code != "QUARANTINED":
        raise Broken(f"{target.shown} was refused with {saw.code}, and not because its definition had changed.")


async def added(box: Sandbox) -> str:
    """On one server of each trust and posture: what a trusted one adds is not held, and then that is said."""
    seen = {server: await _added(box, server) for server in box.own}
    trusted = [server for server in seen if box.trusts(server)]
    told = "; ".join(f"on {_whose(box, server)} {saw}" for server, saw in seen.items())
    if trusted:
        whose = ", ".join(name for server in trusted for name in box.own[server])
        raise NotApplicable(f"what a trusted server adds counts at once ({whose}): {told}")
    return f"A tool that was added later: {told}."


def _whose(box: Sandbox, server: str) -> str:
    return f"a server like {', '.join(box.own[server])}" if box.own[server] else "a server"


async def _added(box: Sandbox, server: str) -> str:
    """What became of the call of a tool that a server of ours added."""
    tools, agent = [*box.stand_ins[server].tools, described(NEW, "Was not there before.")], await box.agent()
    async with _listing(box, server, tools):
        target = await box.judged(server, NEW, SafetyClass.READ_ONLY, {"name": "a"})
        if target.verdict == "deny":
            raise NotApplicable(f"{target.ground} denies a tool like that anyway")
        if box.trusts(server):
            saw = await agent.call(target)
            return "it ran" if saw.code is None else f"it got {saw.code}"
        saw = await _refused(box, agent, target, "nobody had looked at that tool yet")
    if "NEW_TOOL" not in target.codes:
        raise Broken(f"{target.shown} was refused with {saw.code}, and not because it is new.")
    return f"it got {saw.code}, nothing sent"


@contextlib.asynccontextmanager
async def _listing(box: Sandbox, server: str, tools: list[JsonObject]) -> AsyncGenerator[None]:
    """Have a server list other tools, and afterwards again what it listed before."""
    stand_in, was = box.stand_ins[server], box.stand_ins[server].tools
    stand_in.tools = tools
    try:
        await box.api.post("servers", server, "restart", body={})
        await box.gateway.fleet.settled(START_SECONDS)
        yield
    finally:
        stand_in.tools = was
        await box.api.post("servers", server, "restart", body={})
        await box.gateway.fleet.settled(START_SECONDS)


async def unknown(box: Sandbox) -> str:
    """Rules may let such a tool pass, and so may a posture: then that is said."""
    unknowns = [each for each in box.gateway.pipeline.book if each.classification.gateway is SafetyClass.UNKNOWN]
    if not unknowns:
        raise NotApplicable(f"no tool, {UNKNOWN} neither, is unknown")
    by = {each.tool.shown: passing(box.config, box.rules, each) for each in unknowns}
    refused = (each for each in box.targets if each.verdict == "hold" or each.codes[0] in _DENIALS)
    target = next((each for each in refused if by.get(each.shown) == ()), None)
    tried = "" if target is None else await _unknown(box, target)
    if loose := [shown for shown, grounds in by.items() if grounds]:
        grounds = ", ".join(dict.fromkeys(ground for each in loose for ground in by[each]))
        raise NotApplicable(f"{grounds} may let {', '.join(loose[:_NAMED])} pass{tried and f'; {tried}'}")
    return f"{tried}, and no rule or posture lets one of {counted(len(unknowns), 'such tool')} pass."


async def _unknown(box: Sandbox, target: Target) -> str:
    saw = await _refused(box, await box.agent(), target, "nothing is known about what it does")
    return f"{target.shown} got {saw.code}, nothing sent"


PROOFS = (
    Proof("denied", "A call that a rule or a posture denies sends nothing.", denied),
    Proof("out-of-reach", "A token reaches no server that it is not for.", out_of_reach),
    Proof("held", "A call that is held does not leave before it is approved.", held),
    Proof("recorded-ahead", "A call above read-only has its record on disk before it leaves.", recorded_ahead),
    Proof("frozen", "A frozen gateway sends no call.", frozen),
    Proof("changed-tool", "A tool whose definition changed is refused.", changed),
    Proof("added-tool", "A tool that a server adds later is held until somebody trusts it.", added),
    Proof("unknown-tool", "No agent calls a tool that nothing is known about unless that is approved.", unknown),
)
