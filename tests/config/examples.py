"""The two example files that users are promised, and two short ways to read a file."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from interlock.config.load import Config, load
from interlock.errors import ConfigError

RULES = r"""
workspaces: [{id: ws-prod, name: Production, path: /srv/prod}]
servers: {github-mcp: {url: "https://…", namespace: github}}
route_rules:
  - id: prod-writes
    workspace_id: ws-prod            # absent = any
    server_id: github-mcp            # id of the server; glob; absent = any
    tool_pattern: "github__create_*" # glob on namespace__tool; string or list; absent = any
    safety_class: [dangerous]        # absent = any
    operation_type: [write]          # absent = any
    caller: "ci-*"                   # glob on the token's name; absent = any
    args: {repo: "acme/*", amount: {gt: 100}, "items[*].sql": {matches: "(?i)\\bdrop\\b"}}   # all must match
    effect: hold                     # allow | hold | deny;  requires_approval: true = hold
    approval_timeout: 300            # seconds, default 300
    approvals_needed: 1              # distinct approvers
    approvers: [humans]              # humans | agents | names of principals; absent = anyone with the approver role
    four_eyes: false                 # true: the requesting agent's owner may not approve
    max_grant: 15m                   # longest standing grant an approver may give; 0 = this call only; default 15m
    priority: 0
"""

SCALARS = """
listen: {host: 127.0.0.1, port: 7373}
store: sqlite                     # or postgresql://…
posture: guarded                  # guarded | strict | open | observe
expose: search                    # search | direct | both
namespacing: true
default_workspace: null
intent_declaration: {mode: required, strict_server_validation: true}
hold: {answer_after: 50s, clients: {claude-code: 280s}, use_within: 15m, approval_timeout: 300, approvals_needed: 1,
       max_grant: 15m, ask_justification: retry, max_pending_per_caller: 20}
record: {wait: writes, keep_days: 90}        # wait: writes | all
limits: {calls_per_minute: null, in_flight_per_caller: 100, body: 4MiB}
results: {on_injection: label}               # label | block
lab: {execute_destructive: false, max_calls: null, concurrency: 2, call_delay: 100ms}
route_rules: []
"""

SETTINGS = (
    SCALARS
    + """
servers: {github: {command: npx, args: [-y, some-server], env: {TOKEN: "${env:GH}"}, trusted: false}}
auth_scopes: {gh-prod: {env: {TOKEN: "${env:GH_PROD}"}}}
workspaces: [{id: ws-prod, name: Production, path: /srv/prod}]
overrides: {"github:frobnicate": read-only}  # server:tool → class
lexicon: {dangerous: [nuke], write-capable: [stage]}
identity: {jwt: {issuer: "https://…", audience: interlock, jwks_url: "https://…"}}
notices: {webhooks: [{url: "https://…", secret: "${env:HOOK}"}], command: null}
"""
)


def config_of(text: str, environ: Mapping[str, str] | None = None) -> Config:
    """What a file with this text gives, together with these variables and no others."""
    Path("interlock.yaml").write_text(text, encoding="utf-8")
    return load(environ=environ or {})


def problems_of(text: str, environ: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """What is wrong with a file of this text; it is a failure if nothing is."""
    with pytest.raises(ConfigError) as caught:
        config_of(text, environ)
    return caught.value.problems
