"""The sentences about the files of MCP clients, which Interlock reads, changes and puts back.

They are other people's files: each sentence says whether something was written.
"""

from interlock.errors.codes import Code
from interlock.errors.reason import Message

CLIENT_FILE_BROKEN = Message(
    Code.BAD_REQUEST,
    "{place}: {problem}.",
    "Nothing was written. Mend the file there, or let the client write it anew.",
)
CLIENT_FILE_UNUSABLE = Message(
    Code.BAD_REQUEST,
    "{file}: {problem}.",
    "Nothing was written there. Check that it is yours to read and write.",
)
CLIENT_FILE_CHANGED = Message(
    Code.STALE_APPROVAL,
    "{file} was changed by somebody else after it was shown.",
    "Nothing was written there. Look at the difference again, and then answer.",
)
CLIENT_STDIO_ONLY = Message(
    Code.BAD_REQUEST,
    "{title} takes no addresses in its file; it only starts servers.",
    "Leave out --http: `interlock client connect {client}`.",
)
CLIENT_ENTRY_TAKEN = Message(
    Code.BAD_REQUEST,
    "{file} has a server 'interlock' that is not this gateway.",
    "Nothing was written. Give that server another name in the client, then connect again.",
)
CLIENT_CHANGED_SINCE = Message(
    Code.BAD_REQUEST,
    "{file} was changed since Interlock wrote it, and undoing would lose that.",
    "Look at it first; `interlock client undo {client} --force` puts the old one back and keeps a copy of this one.",
)
CLIENT_BACKUP_GONE = Message(
    Code.NOT_FOUND,
    "The copy {backup} of {file} is missing or is not what was copied.",
    "Nothing was written. Take the entry 'interlock' out of the file by hand.",
)
NOTHING_TO_UNDO = Message(
    Code.NOT_FOUND,
    "Interlock has changed nothing{where} that could be undone.",
    "`interlock client list` shows which clients are connected.",
)
JOURNAL_BROKEN = Message(
    Code.BAD_REQUEST,
    "{file}: is not the list of changed files that Interlock keeps.",
    "Nothing was written. The copies lie beside the files of the clients, with `.interlock-` in their names.",
)
NOBODY_TO_ASK = Message(
    Code.BAD_REQUEST,
    "Nothing was changed, because nobody can be asked here.",
    "Add --yes to do what is shown, or --dry-run to only see it.",
)
NOTHING_STARTED = Message(
    Code.BAD_REQUEST,
    "Nothing was started, and the tools of a server are known only while it runs.",
    "Add --yes to start what is shown, or name one server as TARGET.",
)
TOO_MANY_SERVERS = Message(
    Code.BAD_REQUEST,
    "The clients name more than {most} servers.",
    "Nothing was written. Import the ones you want: `interlock server import FILE`.",
)
SETTINGS_UNWRITABLE = Message(
    Code.BAD_REQUEST,
    "{file}: cannot be extended: {problem}.",
    "Nothing was written. Add the servers there by hand; `interlock init --dry-run` shows them.",
)
