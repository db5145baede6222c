"""The sentences about what a gateway works with: its servers, its data folder, its record, other processes.

Each says whether something may have been sent, because that decides what a person does next.
"""

from interlock.errors.codes import Code
from interlock.errors.reason import Message

# Upstreams and the record ---------------------------------------------------------------------------------------
UPSTREAM_DOWN = Message(
    Code.UPSTREAM_DOWN,
    "Server '{server}' is not reachable: {problem}",
    "Nothing was sent. `interlock server logs {server}` shows why.",
)
UNRESOLVED = Message(
    Code.UPSTREAM_DOWN,
    "{problem}. Give it to the gateway, then `interlock server restart {server}`.",
    "Give it to the gateway, then `interlock server restart {server}`.",
)
UPSTREAM_LOST = Message(
    Code.UPSTREAM_DOWN,
    "Server '{server}' was lost during the call: {problem}",
    "The call may have had its effect: check before repeating it.",
)
OUT_OF_PROTOCOL = Message(
    Code.UPSTREAM_DOWN,
    "Server '{server}' answered with something that is no answer in its protocol: {problem}",
    "The call may have had its effect: check before repeating it.",
)
ANSWER_TOO_LONG = Message(
    Code.UPSTREAM_DOWN,
    "Server '{server}' answered with more than a gateway passes on: {problem}",
    "The call may have had its effect: check before repeating it. Ask for less at a time, if the tool can do that.",
)
UNFIT_QUESTION = Message(
    Code.UPSTREAM_DOWN,
    "Server '{server}' asked its caller something that is not passed on: {problem}.",
    "The call may have had its effect: check before repeating it.",
)
NOT_ASKABLE = Message(
    Code.UPSTREAM_DOWN,
    "Server '{server}' wants to ask its caller, which it may not here.",
    "An operator can let its tools ask with `sessions: per-caller` in its configuration.",
)
BAD_ANSWER = Message(
    Code.UPSTREAM_DOWN,
    "The server's answer to {method} is not in the form of one.",
    "Tell the operator; `interlock activity show` has what it sent.",
)
TARGET_DOWN = Message(
    Code.UPSTREAM_DOWN,
    "'{target}' does not run as an MCP server: {problem}",
    "Nothing was called. Start it by hand to see what it prints; a URL has to be that of its MCP endpoint.",
)
NOT_BACK = Message(
    Code.UPSTREAM_DOWN,
    "Server '{server}' did not come back after a call of '{tool}', so the rest was not called.",
    "The report has what was found until then; leave that tool out with a rule to see the rest.",
)
GATEWAY_GONE = Message(
    Code.UPSTREAM_DOWN,
    "The gateway does not answer: {problem}.",
    "`interlock status` shows whether it runs; a call that was under way may have had its effect.",
)
STREAM_ENDED = Message(
    Code.UPSTREAM_DOWN,
    "The gateway has ended the stream of events.",
    "`interlock status` shows whether it runs.",
)
FOLDER_BUSY = Message(
    Code.UPSTREAM_DOWN,
    "Another interlock command works in {folder} and does not finish.",
    "Wait for it or end it, or choose another folder with --data-dir.",
)
GATEWAY_RUNS = Message(
    Code.BAD_REQUEST,
    "A gateway works in {folder} already and listens on {address}.",
    "Connect to that one, or choose another folder with --data-dir.",
)
GATEWAY_LOST = Message(
    Code.INDETERMINATE,
    "The gateway went away while the request was under way.",
    "A call may have had its effect: check before repeating it. Interlock never sends it again by itself.",
)
GATEWAY_NOT_REACHED = Message(
    Code.UPSTREAM_DOWN,
    "The gateway cannot be reached: {problem}.",
    "Nothing was sent. `interlock status` shows whether a gateway runs.",
)
NOT_RUNNING = Message(
    Code.UPSTREAM_DOWN,
    "No gateway runs on {folder}.{also}",
    "Start one with `interlock serve`.",
)
NO_CREDENTIAL = Message(
    Code.UNAUTHENTICATED,
    "The operator's credential in {folder} is missing or cannot be read.",
    "End the gateway that runs there and start it again: it makes a new one.",
)
STORE_UNUSABLE = Message(
    Code.AUDIT_UNAVAILABLE,
    "The database of {folder} cannot be used: {problem}.",
    "Nothing was started. Repair or restore it, or choose another folder with --data-dir.",
)
DATABASE_UNUSABLE = Message(
    Code.AUDIT_UNAVAILABLE,
    "{place} cannot be used: {problem}.",
    "Nothing was started. `interlock db check` says how it is doing; see that `store:` of the configuration names the"
    " right one.",
)
LOG_TAKEN = Message(
    Code.AUDIT_UNAVAILABLE,
    "This gateway has ended: another gateway, which runs elsewhere, goes on with the log of the data folder {folder}."
    " One of the two works in a copy of the other's folder.",
    "End one of them. Each gateway needs a data folder of its own: begin with an empty one, chosen with --data-dir.",
)
RECORD_CUT_SHORT = Message(
    Code.AUDIT_UNAVAILABLE,
    "What happened last could not be recorded in {folder}: {problem}.",
    "Free or repair the disk; `interlock audit verify` checks what is on record.",
)
DATABASE_CUT_SHORT = Message(
    Code.AUDIT_UNAVAILABLE,
    "What happened last could not be recorded in {place}: {problem}.",
    "`interlock db check` says how it is doing, and `interlock audit verify` checks what is on record.",
)
NOT_REMOVED = Message(
    Code.AUDIT_UNAVAILABLE,
    "Nothing was removed: the role of this gateway in PostgreSQL may only add to the log.",
    "Give that role the rights of interlock_pruner, which may remove what a seal covers: docs/deployment.md says how.",
)
STORE_UNREADY = Message(
    Code.AUDIT_UNAVAILABLE,
    "{place} cannot be used: {problem}.",
    "Nothing was changed. See that it is there, that it may be read and written, and that there is room.",
)
DATABASE_UNREADY = Message(
    Code.AUDIT_UNAVAILABLE,
    "{place} cannot be used: {problem}.",
    "Nothing was changed. See that PostgreSQL answers there, that user, password and certificates are right, and what"
    " the role may do.",
)
STORE_FOREIGN = Message(
    Code.BAD_REQUEST,
    "Nothing was done: Interlock keeps its record in a file or in PostgreSQL, and {what} is neither.",
    "Write postgresql://USER@HOST/DATABASE, the path of an interlock.db, or `sqlite` for the file in the data folder.",
)
BACKUP_IS_FILE = Message(
    Code.BAD_REQUEST,
    "Nothing was copied: a backup is a file, and {what} is none.",
    "Name a file; `interlock db copy` copies into a database.",
)
STORE_OCCUPIED = Message(
    Code.BAD_REQUEST,
    "Nothing was copied: {problem}.",
    "Name a file that is not there yet, or a database without anything in the schema interlock.",
)
STORE_IN_USE = Message(
    Code.BAD_REQUEST,
    "Nothing was copied: a gateway works on {place}, and what it writes meanwhile would be lost.",
    "End it first, or make a copy of one moment with `interlock db backup`.",
)
SEVERAL_LOGS = Message(
    Code.BAD_REQUEST,
    "Nothing was copied: there are the logs of several gateways, and a gateway on a file goes on with one.",
    "Copy into a PostgreSQL database, or into a file of another name as a backup.",
)
UPSTREAM_TIMEOUT = Message(
    Code.UPSTREAM_TIMEOUT,
    "Server '{server}' did not answer within {seconds} s.",
    "The call may have had its effect: check before repeating it.",
)
AUDIT_UNAVAILABLE = Message(
    Code.AUDIT_UNAVAILABLE,
    "The activity record cannot be written, so the call was refused.",
    "Nothing was sent. The operator must free or repair the store.",
)
OUT_OF_TOUCH = Message(
    Code.AUDIT_UNAVAILABLE,
    "This gateway could not look at its database for some seconds, so it cannot know what was stopped or revoked.",
    "Nothing was sent. Try again in a few seconds, or at another gateway; the operator must find out why it is silent.",
)
AUDIT_UNREADABLE = Message(
    Code.AUDIT_UNAVAILABLE,
    "The log cannot be checked: {problem}.",
    "Nothing was changed. Check the file that is named or a copy of the folder, or choose another with --data-dir.",
)
DATABASE_UNREADABLE = Message(
    Code.AUDIT_UNAVAILABLE,
    "The log in {place} cannot be checked: {problem}.",
    "Nothing was changed. `interlock db check` says how the database is doing.",
)
EXPORT_UNPROVEN = Message(
    Code.AUDIT_UNAVAILABLE,
    "The export is not proven: its records and seals fit together, as anybody can make them do, and its seals are by a"
    " key that is not known here.",
    "It is of another log than this gateway's: name the seal.pub of the gateway that wrote it with --key FILE.",
)
SEVERAL_IN_FILE = Message(
    Code.AUDIT_UNAVAILABLE,
    "The log cannot be checked: there are {count} logs in one file, as in a backup of several gateways.",
    "Nothing was changed. Copy it to PostgreSQL with `interlock db copy` and check it there; a gateway on a file has"
    " one log, so in the folder of one somebody has put the others there.",
)
NO_LOG = Message(
    Code.AUDIT_UNAVAILABLE,
    "There is no log in {folder}.",
    "Nothing was made there. Choose the data folder of a gateway with --data-dir.",
)
RANGE_REMOVED = Message(
    Code.AUDIT_UNAVAILABLE,
    "Nothing of that stretch was {done}: records up to {upto} were removed.",
    "Choose later ones: --from {next}.",
)
RECORD_DAMAGED = Message(
    Code.AUDIT_UNAVAILABLE,
    "{what} is damaged: {problem}.",
    "Run `interlock audit verify`, which says what was changed, and keep a copy of the data folder.",
)
NOT_SEALED = Message(
    Code.AUDIT_UNAVAILABLE,
    "The log could not be sealed: {problem}.",
    "The entries are there all the same. See that there is room, that the folder of the anchor is there, and that "
    "seal.key in the data folder can be used.",
)
STORE_SILENT = Message(
    Code.AUDIT_UNAVAILABLE,
    "The log could not be sealed, because its database cannot be read: {problem}.",
    "Nothing was sealed or removed. `interlock db check` says how it is doing; it is tried again by itself.",
)
NOT_PRUNED = Message(
    Code.AUDIT_UNAVAILABLE,
    "Nothing was removed, because what was to go does not hold: {problem}.",
    "It is the proof that something was changed: keep a copy of the folder, and look with `interlock audit verify`.",
)
RUN_NOT_SEALED = Message(
    Code.AUDIT_UNAVAILABLE,
    "This is the record of a run of the lab, which is not sealed.",
    "Choose the data folder of a gateway with --data-dir.",
)
INDETERMINATE = Message(
    Code.INDETERMINATE,
    "The call was sent but its outcome is not known.",
    "Check the effect on the server; Interlock never sends it again by itself.",
)
CANCELLED_UNDER_WAY = Message(
    Code.INDETERMINATE,
    "The call was cancelled while it was under way, and whether the server has carried it out is not known.",
    "Check the effect on the server; Interlock never sends it again by itself.",
)

# The lab ----------------------------------------------------------------------------------------------------------
CASSETTE_CUT = Message(
    Code.AUDIT_UNAVAILABLE,
    "The cassette {file} ends before the session did: {problem}.",
    "What is in it can be replayed. Record anew, in parts or where there is room.",
)

# Notices ----------------------------------------------------------------------------------------------------------
WEBHOOK_UNUSABLE = Message(
    Code.BAD_REQUEST,
    "{problem}. {target} is told nothing.",
    "Give it to the gateway or correct it, then start the gateway again.",
)
WEBHOOK_FAILS = Message(
    Code.UPSTREAM_DOWN,
    "{place} ({target}) has failed {count} times in a row: {detail}.",
    "See that its receiver runs and accepts what it is sent, or correct its url and secret in the configuration.",
)
RECEIVER_GONE = Message(
    Code.UPSTREAM_DOWN,
    "{place} ({target}) wants no more notices (410) and is told nothing.",
    "Take it out of the configuration, or correct its url; it is tried again when the configuration is taken up anew.",
)
HOOK_FAILS = Message(
    Code.UPSTREAM_DOWN,
    "{place} has failed {count} times in a row: {detail}.",
    "Run the command by hand with a notice on its input, and correct it in the configuration.",
)
