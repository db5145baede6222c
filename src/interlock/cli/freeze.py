"""`interlock freeze`: the emergency stop, for everything, one server or one caller.

It counts from the moment it is given and outlives a restart. What has left already is not called back. `interlock thaw`
lifts it.
"""

from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.gateway import Api, through_gateway
from interlock.cli.render import note, print_json
from interlock.core.model import Json
from interlock.errors import Exit


def add_target(parser: Options) -> None:
    """The options that say what is meant; without any it is everything."""
    target = parser.add_mutually_exclusive_group()
    target.add_argument("--server", metavar="S", help="only calls to this server")
    target.add_argument("--caller", metavar="C", help="only calls of this caller")


def target_of(values: Values) -> dict[str, Json]:
    given = {"server": values.server, "caller": values.caller}
    return {name: value for name, value in given.items() if value is not None}


def shown_target(values: Values) -> str:
    """What is meant, in words that may begin a sentence."""
    if values.server is not None:
        return f"Server '{values.server}'"
    return "Everything" if values.caller is None else f"Caller '{values.caller}'"


def thaw_command(values: Values) -> str:
    """What lifts this stop, to be pasted."""
    import shlex

    words = [word for name, value in target_of(values).items() for word in (f"--{name}", str(value))]
    return shlex.join(["interlock", "thaw", *words])


def _options(parser: Options) -> None:
    add_target(parser)
    parser.add_argument("--reason", metavar="T", help="why; callers and the record are told")
    add_json(parser)


def _freeze(values: Values) -> Exit:
    reason: dict[str, Json] = {} if values.reason is None else {"reason": values.reason}

    async def work(api: Api) -> Exit:
        frozen = await api.post("freeze", body={**target_of(values), **reason})
        if values.json:
            print_json(frozen)
        note(f"{shown_target(values)} is frozen: calls are refused until `{thaw_command(values)}`.")
        return Exit.OK

    return through_gateway(values, work)


VERB = Verb(
    "freeze",
    "Stop calls at once: all of them, or those to a server or of a caller. What has left is not called back.",
    _options,
    _freeze,
    (
        "interlock freeze --reason 'something deletes records'",
        "interlock freeze --server github",
        "interlock freeze --caller ci",
    ),
)
