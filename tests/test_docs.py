"""What the documentation says is what the program does: commands, settings, routes, codes, links, recipes."""

import asyncio
import json
import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import cast
from urllib.parse import unquote

import pytest
from pydantic import BaseModel

from interlock.cli.checkups.codes import CODES as CHECKS
from interlock.cli.clients.table import CLIENTS
from interlock.cli.command import Verb, parser_for
from interlock.cli.main import NOUNS
from interlock.config import tree
from interlock.config.meanings import MEANINGS
from interlock.errors import ANSWERS, Code
from interlock.web import PREFIX
from interlock.web.routes import ROUTES, Route
from tests.cli.running import configure, run_here, run_process
from tests.store.audit.logs import sealed_folder
from tests.surroundings import isolate

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
MADE = cast("Callable[[], dict[str, str]]", runpy.run_path(str(DOCS / "reference.py"))["pages"])()
WRITTEN = [ROOT / "README.md", *sorted(DOCS.glob("*.md"))]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]


def named(value: object) -> str:
    return value.relative_to(ROOT).as_posix() if isinstance(value, Path) else str(value)


def text_of(file: Path) -> str:
    return file.read_text(encoding="utf-8")


# The reference --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", MADE)
def test_a_page_of_the_reference_is_what_the_code_gives_now(name: str) -> None:
    assert text_of(DOCS / "reference" / name) == MADE[name], "run `make docs`"


def test_the_reference_holds_nothing_that_no_code_gives() -> None:
    assert {each.name for each in (DOCS / "reference").iterdir()} == set(MADE)


def verbs() -> Iterator[tuple[str, Verb]]:
    for noun in NOUNS:
        module = noun.load()
        alone: Verb | None = getattr(module, "VERB", None)
        for each in (alone,) if alone else cast("tuple[Verb, ...]", module.VERBS):
            yield (noun.name if alone else f"{noun.name} {each.name}"), each


VERBS = dict(verbs())


@pytest.mark.parametrize("words", VERBS)
def test_every_verb_is_in_the_reference_with_its_options(words: str) -> None:
    part = MADE["cli.md"].partition(f"## interlock {words}\n")[2].partition("\n## ")[0]
    shown = options_in(parser_for(words, VERBS[words]).format_usage())

    assert VERBS[words].summary in part
    assert shown - {"--config", "--data-dir"} <= options_in(part)


SECTIONS = {
    name: each
    for name, each in vars(tree).items()
    if isinstance(each, type) and issubclass(each, BaseModel) and each.model_fields
}


@pytest.mark.parametrize("section", SECTIONS)
def test_every_setting_has_a_meaning_and_stands_in_the_reference(section: str) -> None:
    fields = set(SECTIONS[section].model_fields)

    assert set(MEANINGS[section]) == fields
    assert {each for each in fields if re.search(rf"^\| `([^`]*\.)?{each}` \|", MADE["config.md"], re.M)} == fields


def test_nothing_but_settings_has_a_meaning() -> None:
    assert set(MEANINGS) == set(SECTIONS)


@pytest.mark.parametrize("route", ROUTES, ids=lambda each: f"{each.method} {each.path}")
def test_every_route_is_in_the_reference_with_its_roles_and_refusals(route: Route) -> None:
    title = f"## {route.method} {PREFIX}{route.path.replace(':anything', '')}\n"
    part = MADE["rest.md"].partition(title)[2].partition("\n## ")[0]

    assert f"Roles: {', '.join(sorted(route.roles))}." in part
    assert all(f"{ANSWERS[code].http} " in part and code in part for code in route.refusals)


@pytest.mark.parametrize("code", Code)
def test_every_code_is_in_the_reference_with_a_sentence(code: Code) -> None:
    answer = ANSWERS[code]

    assert f"| [{code}](#{code.lower()}) | {answer.http} | {answer.exit.value} |" in MADE["codes.md"]
    assert MADE["codes.md"].partition(f"\n## {code}\n")[2].partition("\n## ")[0].count("\n| ") >= 2


def test_every_check_of_the_doctor_is_in_the_reference() -> None:
    assert [each.code for each in CHECKS.values() if f"| `{each.code}` | {each.check} |" not in MADE["codes.md"]] == []


def test_every_client_is_named_where_clients_are_explained() -> None:
    written = text_of(DOCS / "clients.md")

    assert [each.name for each in CLIENTS.values() if f"`{each.name}`" not in written] == []


# Links ----------------------------------------------------------------------------------------------------------


def anchors_of(file: Path) -> set[str]:
    """The anchors that headings get: lower case, spaces as hyphens, nothing but letters, digits, `-` and `_`."""
    heads = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text_of(file), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", each.lower()).strip().replace(" ", "-") for each in heads}


def links_of(file: Path) -> list[str]:
    outside_code = re.sub(r"^```.*?^```|`[^`\n]*`", "", text_of(file), flags=re.M | re.S)
    written = re.findall(r"\]\(([^)\s]+)\)", outside_code) + re.findall(
        r"(?:src|srcset|href)=\"([^\"]+)\"", outside_code
    )
    return [each for each in written if not re.match(r"[a-z]+:", each)]


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_link_leads_somewhere(page: Path) -> None:
    def leads(link: str) -> bool:
        path, _, anchor = unquote(link).partition("#")
        file = (page.parent / path).resolve() if path else page
        return file.exists() and (not anchor or anchor in anchors_of(file))

    assert [each for each in links_of(page) if not leads(each)] == []


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=named)
def test_the_site_holds_everything_that_its_pages_link_to(page: Path) -> None:
    targets = [(page.parent / each.partition("#")[0]).resolve() for each in links_of(page)]

    assert [named(each) for each in targets if not each.is_relative_to(DOCS)] == []


# Commands -------------------------------------------------------------------------------------------------------


def console_lines(page: Path) -> Iterator[str]:
    """The commands of ours that a reader is shown as typed at a shell."""
    for block in re.findall(r"^```console\n(.*?)^```", text_of(page), re.M | re.S):
        typed = re.findall(r"^\$ (.*(?:\\\n.*)*)$", cast("str", block), re.M)
        yield from (each.replace("\\\n", " ") for each in typed if re.match(r"(\w+=\S+ )?(interlock|il) ", each))


def words_of(line: str) -> list[str]:
    """The words after the program's name, up to a pipe or a redirection."""
    words = shlex.split(line, comments=True)
    begin = next(at for at, each in enumerate(words) if each in ("interlock", "il")) + 1
    end = next((at for at, each in enumerate(words) if each in ("|", ">", ">>", "&")), len(words))
    return words[begin:end]


@pytest.mark.parametrize("page", [*WRITTEN, DOCS / "reference" / "cli.md"], ids=named)
def test_every_command_that_is_shown_exists_with_its_options(page: Path) -> None:
    for line in console_lines(page):
        words = words_of(line)
        name = words[0] if words[0] in VERBS else " ".join(words[:2])
        assert name in VERBS, line
        parser_for(name, VERBS[name]).parse_args(words[len(name.split()) :])


@pytest.mark.parametrize("page", WRITTEN, ids=named)
def test_every_command_that_is_named_in_a_sentence_exists(page: Path) -> None:
    prose = re.sub(r"^```.*?^```", "", text_of(page), flags=re.M | re.S)
    nouns = {each.name for each in NOUNS}
    for noun, second, rest in re.findall(r"`interlock ([a-z][a-z-]*)(?:\s([a-z][a-z-]*))?([^`]*)`", prose):
        assert noun in nouns, noun
        name = noun if noun in VERBS else f"{noun} {second}"
        assert name in VERBS or not second, name
        if name in VERBS:
            assert options_in(rest) <= options_in(parser_for(name, VERBS[name]).format_usage()), f"{name}{rest}"


def options_in(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z_-]+", text))


# Recipes --------------------------------------------------------------------------------------------------------

SAID = re.compile(r"^# (allow|hold|deny) by ([\w.:-]+): (--tool .*)$", re.M)
RECIPES = [
    cast("str", each)
    for each in re.findall(r"^```yaml\n(.*?)^```", text_of(DOCS / "rules.md"), re.M | re.S)
    if SAID.search(each)
]


def test_there_is_a_book_of_recipes() -> None:
    assert len(RECIPES) >= 12


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda each: re.sub(r"\W+", " ", each)[:40])
def test_a_recipe_decides_what_it_says(
    recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    isolate(tmp_path, monkeypatch)
    configure(recipe)

    for verdict, ground, words in SAID.findall(recipe):
        done = run_here(capsys, ("rule", "test", "--json", *shlex.split(words)))
        assert (done.json["verdict"], done.json["rule_id"]) == (verdict, ground), words


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda each: re.sub(r"\W+", " ", each)[:40])
def test_a_recipe_has_no_rule_that_can_never_decide(
    recipe: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    isolate(tmp_path, monkeypatch)
    configure(recipe)

    assert run_here(capsys, ("rule", "lint")).exit == 0


@pytest.mark.parametrize("page", WRITTEN, ids=named)
def test_every_configuration_that_is_shown_is_valid(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    isolate(tmp_path, monkeypatch)
    for text in re.findall(r"^```yaml\n(.*?)^```", text_of(page), re.M | re.S):
        if FILE.match(text):
            continue  # a file of another kind, which the worked example is made of
        configure(cast("str", text))
        done = run_here(capsys, ("config", "validate"))
        assert done.exit == 0, f"{done.err}\n{text}"


# The lab --------------------------------------------------------------------------------------------------------

FILE = re.compile(r"# ([\w.]+\.yaml)\n")


def test_the_worked_example_of_the_lab_is_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = text_of(DOCS / "lab.md")
    for text in re.findall(r"^```yaml\n(.*?)^```", page, re.M | re.S):
        named = FILE.match(text)
        assert named is not None
        (tmp_path / named[1]).write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    data = ["--data-dir", str(tmp_path / "data")]
    mock = ["--", "interlock", "mock", "--tools-from", "records.yaml"]

    plan = run_process("probe", "--plan", *data, *mock)
    assert (plan.exit, shown_by(page, "interlock probe --plan")) == (0, plan.lines)
    probed = run_process("probe", *data, *mock)
    said = shown_by(page, "interlock probe -- ")
    assert (probed.exit, {spaced(each) for each in said} - {spaced(each) for each in probed.lines}) == (20, set())
    suite = run_process("test", "records.suite.yaml", *data)
    assert suite.exit == 0, suite.err
    written = run_process("scaffold", "-o", "tests/records", *data, *mock)
    assert (written.exit, "# review before first run" in (tmp_path / "tests/records/test_mock.py").read_text()) == (
        0,
        True,
    )


def shown_by(page: str, command: str) -> list[str]:
    """What a page shows that a command prints, without what stands for the rest."""
    (block,) = re.findall(rf"^\$ {re.escape(command)}.*\n([^$]*?)^```", page, re.M)
    return [each for each in block.splitlines() if each != "…"]


def spaced(line: str) -> str:
    """A line without figures that differ from run to run."""
    return re.sub(r"\s+", " ", re.sub(r"(ok) +[\d.]+ +[\d.]+$", r"\1", line)).strip()


# Proofs ---------------------------------------------------------------------------------------------------------


def block_of(page: Path, language: str) -> str:
    """The only block of a language on a page."""
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", text_of(page), re.M | re.S)
    return cast("str", found)


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    """A data folder whose log is sealed."""
    return asyncio.run(sealed_folder(tmp_path / "sealed"))


def test_a_seal_is_checked_with_openssl_as_the_page_says(sealed: Path) -> None:
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", block_of(DOCS / "audit.md", "sh")],
        cwd=sealed,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert (done.returncode, done.stdout.strip()) == (0, "Signature Verified Successfully"), done.stderr


def test_an_export_leads_to_the_hash_of_its_seal_by_the_program_of_the_page(
    sealed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export = tmp_path / "log.jsonl"
    run_here(capsys, ("audit", "export", "--data-dir", str(sealed), "-o", str(export)))
    program = [sys.executable, "-c", block_of(DOCS / "audit.md", "python"), str(export)]
    whole = subprocess.run(program, capture_output=True, text=True, check=False, timeout=60)
    text = export.read_text(encoding="utf-8")
    export.write_text(text.replace("note 8", "note 9"), encoding="utf-8")
    changed = subprocess.run(program, capture_output=True, text=True, check=False, timeout=60)
    last = json.loads(json.loads((sealed / "anchor.jsonl").read_text().splitlines()[-1])["seal"])

    assert whole.stdout == f"record 40 has the hash {last['hash']}\n"
    assert "record 15 does not fit" in changed.stderr
