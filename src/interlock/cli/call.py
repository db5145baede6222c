"""`interlock call`: call a tool the way an agent does, with the variant that says what the call is about to do.

The call takes the whole path as `operator-agent`: two keys, rules, posture, record. It is a way to see what an agent
would meet, not a way round it.
"""

import functools
import sys

from interlock.cli.calling import send
from interlock.cli.command import Options, Values, Verb
from interlock.cli.gateway import Api, through_gateway
from interlock.cli.inputs import parse_object, server_and_tool
from interlock.core.model import Json
from interlock.errors import Exit


def _options(parser: Options) -> None:
    parser.add_argument("--tool-name", required=True, metavar="S:T", help="the tool, as server:tool")
    parser.add_argument(
        "--json_args",
        "--json-args",
        default="{}",
        metavar="J",
        help="the arguments as a JSON object; `-` reads it from stdin",
    )
    parser.add_argument("--reason", metavar="T", help="why; an approver reads it when the call is held")
    parser.add_argument("--sensitivity", metavar="L", help="public, internal, private or unknown")
    parser.add_argument("--json", action="store_true", help="print the whole result as JSON on stdout")


def _call(operation: str, values: Values) -> Exit:
    server, tool = server_and_tool(values.tool_name)
    text = sys.stdin.read() if values.json_args == "-" else values.json_args
    declared: dict[str, Json] = {"data_sensitivity": values.sensitivity, "reason": values.reason}
    body: dict[str, Json] = {
        "arguments": parse_object(text, "--json_args"),
        "entry": "call",
        "variant": operation,
        "intent": {
            "operation_type": operation,
            **{name: value for name, value in declared.items() if value is not None},
        },
    }

    async def work(api: Api) -> Exit:
        return await send(api, server, tool, body, as_json=values.json)

    # Others reach this gateway too, if it is our own: somebody may have to answer for the call.
    return through_gateway(values, work, servers=True, listen=True)


def _verb(operation: str, summary: str, *examples: str) -> Verb:
    return Verb(f"tool-{operation}", summary, _options, functools.partial(_call, operation), examples)


VERBS = (
    _verb(
        "read",
        "Call a tool and declare that it only reads.",
        "interlock call tool-read --tool-name sample:list_notes",
        'interlock call tool-read --tool-name sample:read_note --json_args \'{"name": "todo"}\' --json',
    ),
    _verb(
        "write",
        "Call a tool and declare that it changes something.",
        'interlock call tool-write --tool-name sample:write_note --json_args \'{"name": "a", "text": "b"}\'',
        "interlock call tool-write --tool-name sample:write_note --json_args - --sensitivity internal",
    ),
    _verb(
        "destructive",
        "Call a tool and declare that it deletes or runs something.",
        'interlock call tool-destructive --tool-name sample:delete_note --json_args \'{"name": "a"}\''
        " --reason 'no longer needed'",
    ),
)
