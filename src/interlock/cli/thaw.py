"""`interlock thaw`: lift a stop that `interlock freeze` gave. Each stop is lifted by itself."""

from interlock.cli.command import Options, Values, Verb, add_json
from interlock.cli.freeze import add_target, shown_target, target_of
from interlock.cli.gateway import Api, through_gateway
from interlock.cli.render import note, print_json
from interlock.errors import Exit


def _options(parser: Options) -> None:
    add_target(parser)
    add_json(parser)


def _thaw(values: Values) -> Exit:
    async def work(api: Api) -> Exit:
        thawed = await api.post("thaw", body=target_of(values))
        if values.json:
            print_json(thawed)
        note(f"{shown_target(values)} may be called again." if values.caller is None else _caller(values.caller))
        return Exit.OK

    return through_gateway(values, work)


def _caller(name: str) -> str:
    return f"Caller '{name}' may call again."


VERB = Verb(
    "thaw",
    "Lift a stop: the one of everything, of a server, or of a caller.",
    _options,
    _thaw,
    ("interlock thaw", "interlock thaw --server github", "interlock thaw --caller ci"),
)
