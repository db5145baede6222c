"""What no single value can be checked for: names that must exist, keys that exclude each other, patterns that compile.

Each check yields the path of what is wrong and a sentence with the way out; turning paths into positions is left to the
loader. Nothing here changes a setting.
"""

import difflib
import shlex
from collections.abc import Callable, Collection, Iterator

from interlock.config.paths import Path
from interlock.config.tree import RouteRule, Server, Settings
from interlock.core.globs import BadPattern, compile_glob
from interlock.core.matchers import BadMatcher, compile_matcher
from interlock.core.rules import qualified_pattern
from interlock.core.safety import Effect, SafetyClass

Complaint = tuple[Path, str]
_RESERVED_NAMESPACE = "interlock"


def did_you_mean(given: str, known: Collection[str]) -> str:
    """`; did you mean 'x'?` for the nearest of the known words, or nothing."""
    near = difflib.get_close_matches(given, list(known), n=1, cutoff=0.6)
    return f"; did you mean '{near[0]}'?" if near else ""


def _unknown(kind: str, given: str, known: Collection[str]) -> str:
    listed = f"; known are {', '.join(sorted(known))}" if known else f"; there is no {kind} in this file"
    return f"unknown {kind} '{given}'{did_you_mean(given, known) or listed}"


def check(settings: Settings) -> Iterator[Complaint]:
    """Everything wrong with the settings as a whole."""
    yield from _check_servers(settings)
    yield from _check_workspaces(settings)
    yield from _check_overrides(settings)
    yield from _check_lexicon(settings)
    yield from _check_rules(settings)
    yield from _check_notices(settings)


def _check_servers(settings: Settings) -> Iterator[Complaint]:
    namespaces: dict[str, str] = {}
    for name, server in settings.servers.items():
        at: Path = ("servers", name)
        yield from _check_server(name, server, settings)
        namespace = server.namespace or name
        if namespace == _RESERVED_NAMESPACE:
            yield at, f"the namespace '{namespace}' is reserved for Interlock's own tools; choose another"
        if namespace != name and namespace in settings.servers:
            yield at, f"namespace '{namespace}' is the id of another server; give it another"
        elif namespace in namespaces:
            yield at, f"namespace '{namespace}' is already taken by server '{namespaces[namespace]}'; give it another"
        namespaces.setdefault(namespace, name)
    if not settings.namespacing and len(settings.servers) != 1:
        yield ("namespacing",), f"false is allowed with exactly one server; there are {len(settings.servers)}"


def _check_server(name: str, server: Server, settings: Settings) -> Iterator[Complaint]:
    at: Path = ("servers", name)
    if (server.command is None) == (server.url is None):
        yield at, f"server '{name}' needs either 'command' or 'url'" + (", not both" if server.url else "")
    if server.url is not None:
        for key in ("args", "env", "cwd"):
            if key in server.model_fields_set:
                yield (*at, key), f"'{key}' belongs to a server with a 'command'; this one has a 'url'"
    elif "headers" in server.model_fields_set:
        yield (*at, "headers"), "'headers' belongs to a server with a 'url'; this one has a 'command'"
    if server.auth_scope_id is not None and server.auth_scope_id not in settings.auth_scopes:
        yield (*at, "auth_scope_id"), _unknown("auth scope", server.auth_scope_id, settings.auth_scopes)


def _check_workspaces(settings: Settings) -> Iterator[Complaint]:
    known: set[str] = set()
    for at, workspace in enumerate(settings.workspaces):
        if workspace.id in known:
            yield ("workspaces", at, "id"), f"workspace id '{workspace.id}' stands here twice; ids must differ"
        known.add(workspace.id)
    if settings.default_workspace is not None and settings.default_workspace not in known:
        yield ("default_workspace",), _unknown("workspace", settings.default_workspace, known)


def _check_overrides(settings: Settings) -> Iterator[Complaint]:
    for key in settings.overrides:
        server, colon, tool = key.partition(":")
        if not colon or not tool:
            yield ("overrides", key), f"'{key}' must be written as server:tool"
        elif server not in settings.servers:
            yield ("overrides", key), _unknown("server", server, settings.servers)


def _check_lexicon(settings: Settings) -> Iterator[Complaint]:
    for safety_class, words in settings.lexicon.items():
        if safety_class is SafetyClass.UNKNOWN:
            yield ("lexicon", "unknown"), "no word can make a tool unknown; use the other classes"
        for at, word in enumerate(words):
            if not (word.isascii() and word.isalpha() and word.islower()):
                yield ("lexicon", safety_class.value, at), f"'{word}' must be one word of lower-case letters"


def _check_notices(settings: Settings) -> Iterator[Complaint]:
    """The command is started without a shell, so its words must be plain; they are not shown, for one may be secret."""
    if settings.notices.command is None:
        return
    at: Path = ("notices", "command")
    try:
        words = shlex.split(settings.notices.command)
    except ValueError as problem:
        yield at, f"cannot be split into words: {str(problem)[:1].lower()}{str(problem)[1:]}; close it, or leave it out"
        return
    if not words or not words[0]:
        yield at, "names no command; write one with its arguments, or null"
    elif "\0" in settings.notices.command:
        yield at, "holds a character that no command can hold"


def _check_rules(settings: Settings) -> Iterator[Complaint]:
    seen: set[str] = set()
    for at, rule in enumerate(settings.route_rules):
        path: Path = ("route_rules", at)
        if rule.id in seen:
            yield (*path, "id"), f"rule id '{rule.id}' stands here twice; ids must differ"
        seen.add(rule.id)
        for rest, text in _check_rule(rule, settings):
            yield (*path, *rest), text


def _check_rule(rule: RouteRule, settings: Settings) -> Iterator[Complaint]:
    workspaces = [each.id for each in settings.workspaces]
    if rule.workspace_id is not None and rule.workspace_id not in workspaces:
        yield ("workspace_id",), _unknown("workspace", rule.workspace_id, workspaces)
    if rule.auth_scope_id is not None and rule.auth_scope_id not in settings.auth_scopes:
        yield ("auth_scope_id",), _unknown("auth scope", rule.auth_scope_id, settings.auth_scopes)
    if rule.server_id is not None:
        yield from _check_server_pattern(rule.server_id, settings.servers)
    if rule.caller is not None:
        yield from _complaint(("caller",), compile_glob, rule.caller)
    for at, pattern in enumerate(rule.tool_pattern or ()):
        yield from _complaint(("tool_pattern", at), compile_glob, qualified_pattern(pattern))
    for name, wanted in rule.args.items():
        try:
            compile_matcher(name, wanted)
        except BadMatcher as problem:
            yield ("args", name), str(problem)
    if (rule.effect is not None and rule.requires_approval is not None) and (
        rule.requires_approval != (rule.effect is Effect.HOLD)
    ):
        yield (
            ("requires_approval",),
            f"{str(rule.requires_approval).lower()} contradicts effect: {rule.effect.value}; keep one of the two",
        )


def _check_server_pattern(pattern: str, servers: Collection[str]) -> Iterator[Complaint]:
    problems = list(_complaint(("server_id",), compile_glob, pattern))
    yield from problems
    if problems:
        return
    glob = compile_glob(pattern)
    if glob.literal is not None and pattern not in servers:
        yield ("server_id",), _unknown("server", pattern, servers)
    elif not any(glob.matches(server) for server in servers):
        yield ("server_id",), f"'{pattern}' matches no server of this file"


def _complaint(path: Path, compile_it: Callable[[str], object], pattern: str) -> Iterator[Complaint]:
    try:
        compile_it(pattern)
    except BadPattern as problem:
        yield path, f"bad pattern '{pattern}': {problem}"
