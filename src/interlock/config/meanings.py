"""What every key of `interlock.yaml` means, in one sentence each.

They stand beside the tree and not in it, because only `config schema` and the reference read them: every other command
starts without them. A test holds the two against each other, key by key. A key that has no effect yet says so here.
"""

MEANINGS: dict[str, dict[str, str]] = {
    "Settings": {
        "listen": "Where the gateway listens.",
        "store": "Where the record is kept: `sqlite`, a file in the data folder, or `postgresql://…`, a database that "
        "gateways share; a password in it may be `${env:NAME}` or `${file:PATH}`.",
        "posture": "What happens where no rule decides: `guarded`, `strict`, `open` or `observe`.",
        "expose": "What agents see: `search` is retrieve_tools and three ways to call, `direct` every tool under its "
        "own name, `both` is both.",
        "namespacing": "Whether names carry the namespace of their server. May be false with exactly one server.",
        "default_workspace": "The workspace of callers that have none. Where there is one workspace only, it is that.",
        "intent_declaration": "How an agent declares what it is about to do.",
        "hold": "What holds for every held call, unless its rule says otherwise.",
        "record": "How the record is written and kept.",
        "limits": "What one caller may take.",
        "results": "What is done about results that look like instructions.",
        "servers": "The MCP servers behind the gateway, each under its id.",
        "auth_scopes": "Sets of credentials that a server or a rule may choose.",
        "workspaces": "The places that calls are made in; rules can tell them apart.",
        "route_rules": "The rules. Their order in the file does not matter.",
        "overrides": "The class of single tools, `server:tool` to class, whatever their name and their server say.",
        "lexicon": "Words for the names of tools, by class, in addition to those that are built in.",
        "identity": "Other ways to show who one is than tokens of this gateway.",
        "notices": "Who is told when a call waits for approval, and when it was answered.",
        "telemetry": "Where traces and figures go by OpenTelemetry. Counts from the next start.",
        "lab": "How far the lab may go with a server: `interlock probe` and its like. Their options come first.",
    },
    "Listen": {
        "host": "The address. On anything but loopback every route needs a token.",
        "port": "The port; 0 takes any that is free.",
    },
    "IntentDeclaration": {
        "mode": "`required`: the agent says its operation_type. `inferred`: it is taken from the variant it calls.",
        "strict_server_validation": "Whether a call that contradicts the server's annotations is refused; if not, it "
        "is allowed with a warning in the record.",
    },
    "HoldSection": {
        "answer_after": "How long a held call blocks before the agent is told to come again. `never` blocks until the "
        "end.",
        "clients": "The same for single clients, by the name they give themselves.",
        "use_within": "How long an approval that nobody used yet is good.",
        "approval_timeout": "How long a held call waits for an answer.",
        "approvals_needed": "How many distinct approvers have to agree.",
        "approvers": "Who may answer: `humans`, `agents`, or names. Nothing means anyone with the role approver.",
        "max_grant": "The longest time for which an approver may let the same call, or the tool, pass again. 0 is this "
        "call only.",
        "ask_justification": "How a missing reason is asked for: `retry` refuses and says so, `elicit` asks the "
        "person at the client where the client can.",
        "max_pending_per_caller": "How many calls of one caller may wait at the same time.",
    },
    "Record": {
        "wait": "`writes`: everything above read-only is on disk before it is sent, and reads are written in groups. "
        "`all`: every call waits for its record.",
        "keep_days": "How many days the record is kept at least. What is older is removed by whole sealed stretches, "
        "and the log says so; null keeps everything.",
        "anchor": "The file that every seal on the log is written to as well; `anchor.jsonl` in the data folder unless "
        "this says otherwise. A path that does not begin with `/` or `~` begins in the folder of this file. "
        "Best where whoever can write to the data folder cannot.",
    },
    "Limits": {
        "calls_per_minute": "How many calls one caller may make in a minute; null is no limit.",
        "in_flight_per_caller": "How many calls of one caller may be under way at the same time.",
        "body": "The largest request that is read.",
    },
    "Results": {
        "on_injection": "What becomes of an answer that gives the model orders: `label` says so in the `_meta` of a "
        "result or the `data` of an error, `block` withholds it and answers with an error. Both are recorded.",
    },
    "Server": {
        "command": "The command that starts it, for a server over stdio.",
        "args": "The arguments of the command.",
        "env": "Variables of its environment. Secrets by reference: `${env:NAME}` or `${file:PATH}`.",
        "cwd": "The folder that it is started in.",
        "url": "Its address, for a server over HTTP.",
        "headers": "Headers of each request to it. Secrets by reference: `${env:NAME}` or `${file:PATH}`.",
        "namespace": "What stands before its tools' names; its id unless this says otherwise.",
        "trusted": "Whether what it says of its tools may lower a class, and tools that it adds later count at once. "
        "Otherwise what it says may only raise a class, and such tools are held until they are trusted.",
        "enabled": "Whether it is started at all.",
        "expose": "Meant for a choice per server; it has no effect yet. See `expose` above.",
        "posture": "Its own posture instead of the general one. Where workspace and server both have one, the stricter "
        "counts.",
        "call_timeout": "How long a call to it may take.",
        "auth_scope_id": "The set of credentials that it is given.",
        "max_concurrent": "How many calls it gets at the same time; null is no limit.",
        "sessions": "`shared`: one session for all callers, and it may ask nobody anything. `per-caller`: each caller "
        "has its own, and the server may ask it.",
    },
    "AuthScope": {
        "env": "Variables for servers over stdio, by reference.",
        "headers": "Headers for servers over HTTP, by reference.",
    },
    "Workspace": {
        "id": "Its id, which rules and tokens name.",
        "name": "Its name for people.",
        "path": "The folder that makes a client over stdio belong to it; the longest path that fits counts.",
        "posture": "Its own posture instead of the general one. Where workspace and server both have one, the stricter "
        "counts.",
    },
    "RouteRule": {
        "id": "Its id, which the record names.",
        "workspace_id": "Only calls of this workspace.",
        "server_id": "Only calls to this server; a glob.",
        "tool_pattern": "Only tools whose `namespace__tool` fits; a glob or several.",
        "safety_class": "Only tools of these classes.",
        "operation_type": "Only calls that declare this.",
        "caller": "Only calls of these callers; a glob on the name.",
        "args": "Only calls whose arguments fit; see the page about rules.",
        "effect": "`allow`, `hold` or `deny`. A rule with no effect decides nothing.",
        "requires_approval": "true is another way to write `effect: hold`.",
        "approval_timeout": "How long a call that it holds waits; otherwise as under `hold`.",
        "approvals_needed": "How many distinct approvers have to agree; otherwise as under `hold`.",
        "approvers": "Who may answer: `humans`, `agents`, or names; otherwise as under `hold`.",
        "four_eyes": "Whether the owner of the agent that asks is shut out from answering.",
        "max_grant": "The longest time that an approval may be widened to; otherwise as under `hold`.",
        "priority": "Of several matching rules the one with the highest decides, unless one denies.",
        "auth_scope_id": "The credentials that a call which it decides is made with.",
    },
    "Jwt": {
        "issuer": "What `iss` of a token has to be.",
        "audience": "What `aud` of a token has to name.",
        "jwks_url": "Where the keys of the issuer are fetched from.",
    },
    "Identity": {
        "jwt": "The issuer whose tokens are accepted beside those of this gateway.",
    },
    "Webhook": {
        "url": "Where notices are posted to. It is treated as a secret.",
        "secret": "What notices are signed with, by reference.",
    },
    "Notices": {
        "webhooks": "Receivers of notices over HTTP.",
        "command": "A command that is run once for each notice, with the notice on its input.",
    },
    "Telemetry": {
        "endpoint": "The address of a collector that takes OTLP over HTTP, without `/v1/traces`; null sends nothing.",
        "headers": "HTTP headers for the collector.",
        "propagate": "Whether servers are told, as `traceparent` in `_meta`, which trace a call belongs to.",
    },
    "Lab": {
        "execute_destructive": "Whether destructive tools may be called, once.",
        "max_calls": "How many calls a run may make; null is no limit.",
        "concurrency": "How many calls are under way at the same time.",
        "call_delay": "How long is waited between calls over HTTP.",
    },
}
