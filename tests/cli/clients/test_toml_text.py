"""Editing TOML where it stands."""

import tomllib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from interlock.cli.clients.jsonc import Broken
from interlock.cli.clients.toml_text import drop, parse, put, strings, tables

TEXT = '''# top
model = "x" # kept

[mcp_servers.github]
command = "npx"
args = [
  "a", # one
  ["x"],
]

[mcp_servers.github.env]
T = "s"

# about profiles
[profiles."a.b"]
x = """
[mcp_servers.fake]
"""

[mcp_servers.other] # o
url = 'http://h'
'''


def test_a_table_goes_with_everything_inside_and_the_comment_after_it_stays() -> None:
    start, end = TEXT.index("[mcp_servers.github]"), TEXT.index("# about")

    assert drop(TEXT, ["mcp_servers"], ["github"]) == TEXT[:start] + TEXT[end:]


def test_a_new_table_comes_last() -> None:
    result = put(TEXT, ["mcp_servers", "inter lock"], {"command": "/x", "args": ["a"], "n": 600})

    assert result == TEXT + '\n[mcp_servers."inter lock"]\ncommand = "/x"\nargs = ["a"]\nn = 600\n'


def test_a_table_that_is_there_is_written_anew() -> None:
    once = put(TEXT, ["mcp_servers", "interlock"], {"command": "/x", "env": {"A": "b"}})

    assert parse(put(once, ["mcp_servers", "interlock"], {"command": "/y"})) == {
        **parse(TEXT),
        "mcp_servers": {**parse(TEXT)["mcp_servers"], "interlock": {"command": "/y"}},
    }


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_a_mark_at_the_beginning_stay(ending: str, mark: str) -> None:
    text = mark + f'[mcp_servers.a]{ending}command = "x"{ending}{ending}[z]{ending}'

    added = put(text, ["mcp_servers", "b"], {"command": "y"})
    assert added == text + f'{ending}[mcp_servers.b]{ending}command = "y"{ending}'
    assert drop(text, ["mcp_servers"], ["a"]) == f"{mark}[z]{ending}"


@pytest.mark.parametrize(
    "text",
    [
        'mcp_servers = {a = {command="x"}, b={url="u"}} # c\n',
        'mcp_servers.a.command = "x"\nmcp_servers.b.url="u"\n',
        '[mcp_servers]\na = {command="x"}\nb = {url="u"}\n# c\n\n[z]\nx=1\n',
        '[mcp_servers.a]\ncommand="x"\n[z]\nq=1\n[mcp_servers.b]\nurl="u"',
        '[mcp_servers.b]\nurl="u"\n[[list]]\nx=1\n[mcp_servers.a]\ncommand="x"\n[[list]]\nx=2\n',
        "\ufeffmcp_servers = {a = {command='x'}, b={url='u'}}\n",
    ],
)
def test_other_notations_are_edited_too(text: str) -> None:
    before = parse(text)
    servers = before["mcp_servers"]

    assert parse(drop(text, ["mcp_servers"], ["a"])) == {**before, "mcp_servers": {"b": servers["b"]}}
    assert parse(put(text, ["mcp_servers", "c"], {"command": "y"})) == {
        **before,
        "mcp_servers": {**servers, "c": {"command": "y"}},
    }
    assert ("# c" in text) == ("# c" in drop(text, ["mcp_servers"], ["a"]))


def test_the_last_server_may_go() -> None:
    assert drop('x = 1\n\n[mcp_servers.a]\ncommand = "x"', ["mcp_servers"], ["a"]) == "x = 1\n\n"


def test_where_no_table_can_be_nothing_is_put_in() -> None:
    with pytest.raises(Broken, match="notation"):
        put("mcp_servers = 5\n", ["mcp_servers", "a"], {"command": "x"})


@pytest.mark.parametrize(("text", "place"), [("a = 1\nb = = 2\n", (2, 5)), ("a = ", (1, 5)), ("\x00", (1, 1))])
def test_what_is_no_toml_is_told_by_its_place(text: str, place: tuple[int, int]) -> None:
    with pytest.raises(Broken) as broken:
        parse(text)

    assert (broken.value.line, broken.value.column) == place


def test_what_is_nested_too_deeply_is_told() -> None:
    with pytest.raises(Broken):
        parse("a = " + "[" * 100_000)


def test_every_text_is_found_with_its_meaning() -> None:
    text = 'a = "\\u0041" # "no"\nb = \'\'\'x\n\'y\'\'\'\'\nc = ["z"]\nd = """q""""\n'

    assert [value for _, value in strings(text)] == ["A", "x\n'y'", "z", 'q"']


UNHURRIED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""What is tested is the text, not how fast a busy machine makes one up."""

# Whatever the text is -------------------------------------------------------------------------------------------

NAMES = ("alpha", "beta", "gam ma", 'q"x')
LINES = st.sampled_from(
    [
        "",
        "# note",
        "  # [mcp_servers.alpha]",
        'k{} = "[x]"',
        "k{} = [\n  [1],\n# in\n]",
        "k{} = '''\n[y]\n'''",
        "k{} = {{a = 1}}",
    ]
)


@st.composite
def documents(draw: st.DrawFn) -> tuple[str, list[tuple[str, str]]]:
    """A text of tables, and each table's name (empty for one that is no server) with its text."""
    blocks: list[tuple[str, str]] = []
    for name in draw(st.lists(st.sampled_from((*NAMES, "")), unique_by=lambda name: name or object(), max_size=5)):
        header = f"[mcp_servers.{tomllib_key(name)}]" if name else f"[other.t{len(blocks)}]"
        body = [line.format(at) for at, line in enumerate(draw(st.lists(LINES, max_size=4)))]
        blocks.append((name, "\n".join([header, *body, ""])))
    return draw(st.sampled_from(["", "# top\n", "x = 1\n\n"])) + "".join(text for _, text in blocks), blocks


def tomllib_key(name: str) -> str:
    return name if name.isalpha() else '"' + name.replace('"', '\\"') + '"'


@UNHURRIED
@given(documents(), st.sets(st.sampled_from(NAMES)))
def test_taking_out_leaves_every_other_table_as_it_is(
    document: tuple[str, list[tuple[str, str]]], gone: set[str]
) -> None:
    text, blocks = document

    result = drop(text, ["mcp_servers"], gone)

    left = tomllib.loads(result)
    servers = {name: each for name, each in tomllib.loads(text).get("mcp_servers", {}).items() if name not in gone}
    assert left.get("mcp_servers", {}) == servers
    for name, block in blocks:
        if name not in gone:
            assert block in result


@UNHURRIED
@given(documents())
def test_putting_in_leaves_everything_before_it_as_it_is(document: tuple[str, list[tuple[str, str]]]) -> None:
    text, _ = document

    assert put(text, ["mcp_servers", "interlock"], {"command": "x"}).startswith(text)
    assert len(tables(text)) == text.count("\n[mcp_servers.") + text.count("\n[other.") + text.startswith("[")
