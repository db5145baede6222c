"""What the configuration means to the parts: each gets the plain values that it works with.

Nothing is started here and nothing is kept: the same configuration always gives the same values. This is the one place
where references to secrets are resolved for the servers; one that leads nowhere makes its server unusable, not the
gateway.
"""

import contextlib
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path, PurePosixPath
from typing import Literal
from urllib.parse import urlsplit

from interlock import __version__, errors
from interlock.config.load import Config, load_text
from interlock.config.references import resolve, resolve_address, values_in
from interlock.config.shown import effective
from interlock.config.tree import AuthScope as Credentials
from interlock.config.tree import HoldSection, Server
from interlock.core.decide import GatewayEntry
from interlock.core.intent import IntentPolicy
from interlock.core.model import Json
from interlock.core.policy import Draft, Patience, Policy
from interlock.core.rates import Limits
from interlock.core.redact import redact
from interlock.core.rules import RuleBook
from interlock.core.safety import SafetyClass
from interlock.errors import ConfigError
from interlock.forward.upstream import Scope as AuthScope
from interlock.forward.upstream import UpstreamSpec
from interlock.receive.jwt import Terms
from interlock.receive.workspaces import Workspaces
from interlock.store.audit.anchor import ANCHOR

SAMPLE, CANDIDATE = "sample", "candidate"


def policy_of(config: Config) -> Policy:
    """The operator's policy, compiled."""
    settings, declared = config.settings, config.settings.intent_declaration
    intent = IntentPolicy(declared.mode, declared.strict_server_validation)
    return Policy(
        rules=RuleBook(config.rules),
        entry=GatewayEntry(settings.posture, intent),
        hold=config.hold_terms,
        postures_of_workspaces={each.id: each.posture for each in settings.workspaces if each.posture},
        postures_of_servers={name: each.posture for name, each in settings.servers.items() if each.posture},
        limits=Limits(settings.limits.calls_per_minute, settings.limits.in_flight_per_caller),
        patience=patience_of(settings.hold),
        workspaces={each.id: each.name or each.id for each in settings.workspaces},
        withhold=settings.results.on_injection == "block",
    )


def draft_of(text: str) -> Draft:
    """The policy of a configuration that is not in force, from the text of its file. Raises ConfigError."""
    config = load_text(text, CANDIDATE)
    namespaces = {name: each.namespace or name for name, each in config.settings.servers.items()}
    return Draft(policy_of(config), namespaces, overrides_of(config))


def patience_of(hold: HoldSection) -> Patience:
    """How long callers wait at the desk."""

    def seconds(value: timedelta | Literal["never"]) -> float | None:
        return value.total_seconds() if isinstance(value, timedelta) else None

    return Patience(
        answer_after=seconds(hold.answer_after),
        clients={name: seconds(value) for name, value in hold.clients.items()},
        use_within=int(hold.use_within.total_seconds()),
        max_pending=hold.max_pending_per_caller,
        elicit=hold.ask_justification == "elicit",
    )


def upstreams_of(config: Config, environ: Mapping[str, str]) -> list[UpstreamSpec]:
    """The upstreams of the configuration; without any, the bundled sample.

    One whose references lead nowhere is among them with that problem: the others run.
    """
    servers = {name: server for name, server in config.settings.servers.items() if server.enabled}
    if not config.settings.servers:
        return [UpstreamSpec(SAMPLE, SAMPLE, argv=(sys.executable, "-m", "interlock.lab.sample"))]
    scopes: dict[str, AuthScope] = {}
    for name, each in config.settings.auth_scopes.items():
        with contextlib.suppress(ConfigError):  # whoever needs it hears of it
            scopes[name] = _scope(f"auth_scopes.{name}", each, environ)
    return [_usable_or_not(name, server, environ, scopes, config) for name, server in servers.items()]


def _usable_or_not(
    name: str, server: Server, environ: Mapping[str, str], scopes: Mapping[str, AuthScope], config: Config
) -> UpstreamSpec:
    spec = _upstream(name, server, scopes)
    try:
        under = server.auth_scope_id
        if under is not None and under not in scopes:
            _scope(f"auth_scopes.{under}", config.settings.auth_scopes[under], environ)
        spec = spec.under(_scope(f"servers.{name}", server, environ))
    except ConfigError as unresolved:
        return replace(spec, unusable=errors.UNRESOLVED(problem=unresolved.problems[0], server=name).text)
    return spec if under is None else spec.under(scopes[under])


def secrets_of(config: Config, environ: Mapping[str, str]) -> frozenset[str]:
    """Every value that the configuration refers to, or gives under a name that says so: what servers may echo, and the
    record must not keep."""
    holders = (*config.settings.servers.values(), *config.settings.auth_scopes.values())
    given = [pair for each in holders for pair in (*each.env.items(), *each.headers.items())]
    given += config.settings.telemetry.headers.items()
    plain = {text for name, text in given if "${" not in text and redact({name: text}) != {name: text}}
    signed_with = [each.secret for each in config.settings.notices.webhooks if each.secret is not None]
    store = config.settings.store
    with contextlib.suppress(ValueError):  # an address that is none has no password
        plain |= {each for each in [urlsplit(store).password] if each is not None and "${" not in each}
    return frozenset(values_in((*(text for _, text in given), *signed_with, store), environ)) | plain


def store_address(config: Config, environ: Mapping[str, str]) -> str:
    """Where the record is kept, with references resolved; raises ConfigError."""
    return resolve_address(config.settings.store, environ, "store")


def collector_headers(config: Config, environ: Mapping[str, str]) -> dict[str, str]:
    """What a collector of traces is sent along, with references resolved; raises ConfigError."""
    given = config.settings.telemetry.headers
    return {name: resolve(value, environ, f"telemetry.headers.{name}") for name, value in given.items()}


def _scope(where: str, given: Server | Credentials, environ: Mapping[str, str]) -> AuthScope:
    """What goes along to a server as environment or headers, with references resolved."""
    return AuthScope(
        env={key: resolve(value, environ, f"{where}.env.{key}") for key, value in given.env.items()},
        headers={key: resolve(value, environ, f"{where}.headers.{key}") for key, value in given.headers.items()},
    )


def _upstream(name: str, server: Server, scopes: Mapping[str, AuthScope]) -> UpstreamSpec:
    """The upstream of a server, without anything that is given by reference."""
    return UpstreamSpec(
        id=name,
        namespace=server.namespace or name,
        argv=() if server.command is None else (server.command, *server.args),
        url=server.url,
        cwd=server.cwd,
        trusted=server.trusted,
        call_seconds=server.call_timeout.total_seconds(),
        max_concurrent=server.max_concurrent,
        scopes=scopes,
        per_caller=server.sessions == "per-caller",
    )


def overrides_of(config: Config) -> dict[str, dict[str, SafetyClass]]:
    """The operator's overrides, by server and tool."""
    by_server: dict[str, dict[str, SafetyClass]] = {}
    for name, safety_class in config.settings.overrides.items():
        server, _, tool = name.partition(":")
        by_server.setdefault(server, {})[tool] = safety_class
    return by_server


def anchor_of(config: Config, folder: Path) -> Path:
    """The file that seals on the log are written to as well."""
    given = config.settings.record.anchor
    # Whoever checks from another folder than the gateway was started in has to find the same file.
    beside = Path() if config.file is None else config.file.parent
    return folder / ANCHOR if given is None else (beside / Path(given).expanduser()).absolute()


def workspaces_of(config: Config) -> Workspaces:
    """The workspaces by folder; the default one is the one that is named so, else the only one."""
    listed = config.settings.workspaces
    only = listed[0].id if len(listed) == 1 else None
    folders = {PurePosixPath(Path(each.path).expanduser().resolve()): each.id for each in listed if each.path}
    return Workspaces(config.settings.default_workspace or only, folders, frozenset(each.id for each in listed))


def terms_of(config: Config) -> Terms | None:
    """Whose tokens are taken beside our own; None when nobody's are."""
    jwt, listed = config.settings.identity.jwt, config.settings.workspaces
    if jwt is None:
        return None
    return Terms(jwt.issuer, jwt.audience, jwt.jwks_url, frozenset(each.id for each in listed))


def shown_settings(config: Config) -> dict[str, Json]:
    """What a reader of the REST face may know of the configuration: nothing that holds a secret.

    `effective` is every value in force and where it came from, as `interlock config show` prints it.
    """
    settings = config.settings
    return {
        "version": __version__,
        "listen": {"host": settings.listen.host, "port": settings.listen.port},
        "posture": settings.posture.value,
        "expose": str(settings.expose),
        "namespacing": settings.namespacing,
        "default_workspace": workspaces_of(config).default,
        "record": {"wait": str(settings.record.wait)},
        "servers": len(settings.servers),
        "rules": len(settings.route_rules),
        "file": None if config.file is None else str(config.file),
        "effective": effective(config),
    }
