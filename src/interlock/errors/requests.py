"""The sentences for requests that cannot be served as they are: configuration, REST, the command line.

What was sent is not repeated in them unless it is a name: it may be a secret in the wrong place.
"""

from interlock.errors.codes import Code
from interlock.errors.reason import Message

# Requests -------------------------------------------------------------------------------------------------------
BAD_REQUEST = Message(Code.BAD_REQUEST, "{problem}", "{fix}")
CONFIG_INVALID = Message(
    Code.BAD_REQUEST,
    "{problems}",
    "Mend the configuration; `interlock config validate` checks it again. Nothing was started.",
)
SUITE_INVALID = Message(
    Code.BAD_REQUEST,
    "{problems}",
    "Mend the suite; `interlock test --schema` prints what it may hold. Nothing was called.",
)
MANIFEST_INVALID = Message(
    Code.BAD_REQUEST,
    "{problems}",
    "Mend the file; nothing was served.",
)
UNAUTHENTICATED = Message(
    Code.UNAUTHENTICATED,
    "{problem}",
    "Send a valid token: `interlock token create` makes one.",
)
FORBIDDEN = Message(
    Code.FORBIDDEN,
    "This needs the role {role}.",
    "Use a token with that role.",
)
LAB_NOT_FOR_AGENTS = Message(
    Code.FORBIDDEN,
    "The lab is not for agents: it calls tools without a declared intent and past the posture.",
    "Use the token of a person or a service with the role admin, or call the tool without it.",
)
LINE_TOO_LONG = Message(
    Code.BAD_REQUEST,
    "A line is longer than {limit} bytes.",
    "Send less at once; nothing of it was looked at.",
)
ID_IN_USE = Message(
    Code.BAD_REQUEST,
    "The id {id} belongs to a request that is still under way.",
    "Give every request an id of its own.",
)
TOKEN_UNUSABLE = Message(
    Code.BAD_REQUEST,
    "INTERLOCK_TOKEN holds something that is no token.",
    "Set it to the text that `interlock token create` printed, or unset it.",
)
NOT_FOUND = Message(Code.NOT_FOUND, "{what} not found.{suggestion}", "List what there is and use its exact name.")
AMBIGUOUS_URI = Message(
    Code.BAD_REQUEST,
    "'{uri}' is not listed by exactly one server.",
    "Say which server is meant: {forms}.",
)
NOT_OFFERED = Message(
    Code.BAD_REQUEST,
    "Server '{server}' does not offer {what}.",
    "Do without it, or ask another server.",
)
STALE_CURSOR = Message(
    Code.BAD_REQUEST,
    "The cursor does not belong to this list as it is now.",
    "Begin again without a cursor.",
)
TOO_MANY_WATCHED = Message(
    Code.QUOTA,
    "This client watches {limit} resources already.",
    "Unsubscribe from one that is not needed.",
)
BAD_PARAMS = Message(
    Code.BAD_REQUEST,
    "{problem}.",
    "Send the params that the protocol has for {method}.",
)

# Stretches of the log -------------------------------------------------------------------------------------------
RANGE_BACKWARDS = Message(
    Code.BAD_REQUEST,
    "Record {last} comes before record {first}, so nothing is between them.",
    "Give the smaller number to --from and the larger one to --to.",
)
RANGE_BEYOND = Message(
    Code.BAD_REQUEST,
    "There is no record {first}: the log goes up to record {end}.",
    "Choose a record that is there with --from.",
)
RANGE_OF_EXPORT = Message(
    Code.BAD_REQUEST,
    "An export is checked as a whole, and --from and --to say otherwise.",
    "Leave them out, or export less: `interlock audit export --from N --to N`.",
)

# Tokens of an issuer --------------------------------------------------------------------------------------------
JWT_UNREADABLE = Message(
    Code.UNAUTHENTICATED,
    "The token is neither one of this gateway nor a JWT that can be read.",
    "Send a token of the issuer as it is, or one that `interlock token create` made.",
)
JWT_ALGORITHM = Message(
    Code.UNAUTHENTICATED,
    "The token is not signed in a way that is accepted here.",
    "Let the issuer sign with one of {algorithms}.",
)
JWT_NO_KEYS = Message(
    Code.UNAUTHENTICATED,
    "The token cannot be checked, because the keys of its issuer cannot be fetched now.",
    "Try again in a moment; `interlock doctor` tells the operator what is wrong.",
)
JWT_SIGNATURE = Message(
    Code.UNAUTHENTICATED,
    "The token is not signed with a key of the issuer.",
    "Get a new token from the issuer that `identity.jwt` names.",
)
JWT_FOR_OTHERS = Message(
    Code.UNAUTHENTICATED,
    "The token is of another issuer or for another audience.",
    "Get one from the issuer, and for the audience, that `identity.jwt` names.",
)
JWT_EXPIRED = Message(Code.UNAUTHENTICATED, "The token has expired.", "Get a new one from the issuer.")
JWT_TOO_EARLY = Message(
    Code.UNAUTHENTICATED,
    "The token is not valid yet.",
    "Wait until it is; if it should be, set the clocks of the issuer and of this machine.",
)
JWT_AGAIN = Message(
    Code.UNAUTHENTICATED,
    "The token that this call came with has expired, or is not known any more.",
    "Get a new one from the issuer and bring the same call again.",
)
JWT_CLAIM = Message(
    Code.UNAUTHENTICATED,
    "The claim {claim} of the token is missing or not understood.",
    "Let the issuer set it right; what is not understood is never taken for no limit.",
)
JWT_NO_ROLE = Message(
    Code.FORBIDDEN,
    "The token gives no role here.",
    "Let the issuer put agent, approver, auditor or admin into interlock_roles, or interlock:agent and the like into "
    "scope.",
)

# REST -----------------------------------------------------------------------------------------------------------
REST_NEEDS_TOKEN = Message(
    Code.UNAUTHENTICATED,
    "REST always needs a token, also on this machine.",
    "Send `Authorization: Bearer il_…`; `interlock token create` makes one.",
)
CODE_SPENT = Message(
    Code.UNAUTHENTICATED,
    "This link was used before, or its time is over.",
    "Make a new one with `interlock open`.",
)
SIGNED_OUT = Message(
    Code.UNAUTHENTICATED,
    "This browser is not signed in, or no longer.",
    "Sign in again with `interlock open`.",
)
CSRF_NEEDED = Message(
    Code.FORBIDDEN,
    "A cookie alone changes nothing here.",
    "Send what signing in gave as `X-CSRF-Token` along, or use a token.",
)
NOT_OUR_PAGE = Message(
    Code.FORBIDDEN,
    "The request comes from a page of another origin.",
    "Use the dashboard, or send a token.",
)
PERSONS_SIGN_IN = Message(
    Code.FORBIDDEN,
    "Only a person with a token signs in to the dashboard.",
    "Use `interlock open`, or the REST interface with the token.",
)
BAD_FIELDS = Message(
    Code.BAD_REQUEST,
    "{problems}",
    "Correct it and ask again; GET /api/v1/openapi.json describes every field.",
)
CANDIDATE_UNFIT = Message(
    Code.BAD_REQUEST,
    "{problems}",
    "Mend the candidate and ask again: nothing was replayed, and nothing was changed.",
)
BODY_NOT_JSON = Message(
    Code.BAD_REQUEST,
    "{problem}",
    "Send one JSON object with `Content-Type: application/json`, each key once.",
)
BODY_REFUSED = Message(Code.BAD_REQUEST, "{problem}", "Send a shorter body, in one go.")
METHOD_NOT_ALLOWED = Message(Code.BAD_REQUEST, "{method} is not possible here.", "Use {allowed}.")
STORE_UNREACHABLE = Message(
    Code.AUDIT_UNAVAILABLE,
    "The store cannot be read or written now.",
    "Nothing was changed. The operator must free or repair the store.",
)
STORE_UNCERTAIN = Message(
    Code.AUDIT_UNAVAILABLE,
    "Whether this was done is not known: the connection to the store was lost while it was written.",
    "Look at what it is about before you do it again; it may have been done.",
)
EXPORT_BROKEN = Message(
    Code.AUDIT_UNAVAILABLE,
    "The export is not whole: the store could not be read any further.",
    "Export again, or a shorter time with since and until.",
)
NAME_RESERVED = Message(
    Code.BAD_REQUEST,
    "The name '{name}' is reserved for Interlock itself.",
    "Choose another name for the token.",
)
OTHER_KIND = Message(
    Code.BAD_REQUEST,
    "'{name}' is known as {known}, so a token of it cannot be {given}.",
    "One principal has one kind: set kind to {known}, or choose another name.",
)
TOKEN_REVOKED_BEFORE = Message(
    Code.NOT_FOUND,
    "Token '{id}' was revoked before, at {at}.",
    "Nothing is left to do.",
)
CHANGED_AGAIN = Message(
    Code.STALE_APPROVAL,
    "Tool '{tool}' is no longer what was looked at, so nothing was trusted.",
    "Look at it again with `interlock tool diff {tool}`.",
)
OVERRIDE_IN_FILE = Message(
    Code.BAD_REQUEST,
    "The class of '{tool}' is set in the configuration file, under `overrides`.",
    "Change it there: what the file says wins.",
)
NOT_FROZEN = Message(
    Code.NOT_FOUND,
    "Nothing to thaw: there is no freeze of {what}.{suggestion}",
    "`interlock status` and GET /api/v1/freezes show what is frozen; each freeze is lifted by itself.",
)
FREEZE_NOT_KEPT = Message(
    Code.AUDIT_UNAVAILABLE,
    "Frozen: {what}. But it could not be written down yet: until then a restart lifts it, and other gateways go on.",
    "Repair or free the store, before anybody restarts the gateway: it is tried again every second.",
)
SERVER_EXISTS = Message(
    Code.BAD_REQUEST,
    "There is a server '{id}' already, {where}.",
    "Choose another id, or remove that one first.",
)
SERVER_IN_FILE = Message(
    Code.BAD_REQUEST,
    "Server '{id}' stands in the configuration file, which Interlock never writes.",
    "Remove it there, or switch it off: `interlock server disable {id}`.",
)
SERVER_OFF = Message(
    Code.BAD_REQUEST,
    "Server '{id}' is switched off.",
    "Switch it on: `interlock server enable {id}`.",
)
SERVER_UNFIT = Message(
    Code.BAD_REQUEST,
    "Server '{id}' does not fit the configuration file any more: {problem}",
    "Remove it and add it anew: `interlock server remove {id}`.",
)
SECRET_IN_PLAIN = Message(
    Code.BAD_REQUEST,
    "{places}: this looks like a secret, and secrets are kept by reference only.",
    "Put it into a variable of the gateway's environment and write ${{env:NAME}} in env or headers, or ${{file:PATH}}.",
)
BUDGET_EXHAUSTED = Message(
    Code.BUDGET_EXHAUSTED,
    "The budget of {limit} calls is used up.",
    "Raise max_calls or probe fewer tools.",
)


SHELL_FIXES: dict[Code, str] = {
    Code.UNKNOWN_TOOL: "`interlock tool list` shows the names.",
    Code.INVALID_ARGUMENTS: "Correct the arguments; `interlock tool show {tool}` shows the schema.",
    Code.SERVER_MISMATCH: "Use `interlock call tool-destructive`.",
    Code.PENDING: "Approve it with `interlock approval approve {approval}` and repeat this command: it runs once.",
    Code.JUSTIFICATION_REQUIRED: "Add --reason with one or two sentences for the reviewer, or --arg _justification=… "
    "where there is no --reason.",
}
"""What to do next at a shell, for the codes of a call whose fix is written for agents."""
