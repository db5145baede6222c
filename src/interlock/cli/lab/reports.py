"""A run on its way out: the report on stdout, the files that were asked for, and the copy that is kept.

What is kept goes into the folder of the run first, so that a file that cannot be written loses nothing.
"""

from pathlib import Path

from interlock.cli.command import Options, Values
from interlock.cli.inputs import bad
from interlock.cli.render import write
from interlock.lab.report.html import html_of
from interlock.lab.report.json import json_of
from interlock.lab.report.junit import junit_of
from interlock.lab.report.sarif import sarif_of
from interlock.lab.report.text import text_of
from interlock.lab.run import Run, RunFolder

_FORMATS = {"junit": junit_of, "sarif": sarif_of, "html": html_of}
HTML = "report.html"


def add_reports(parser: Options) -> None:
    """The files that a report may be written to as well."""
    files = parser.add_argument_group("reports")
    for name in _FORMATS:
        files.add_argument(f"--{name}", metavar="FILE", help=f"write the report as {name} too")


def hand_out(run: Run, folder: RunFolder, values: Values) -> None:
    """Keep a run, write the files that were asked for, and print it."""
    folder.keep(run)
    folder.write(HTML, html_of(run).encode())
    for name, made in _FORMATS.items():
        file = getattr(values, name)
        if file is not None:
            _write(Path(file), made(run))
    write(json_of(run) if values.json else text_of(run))


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as failed:
        raise bad(
            f"{file}: {failed.strerror}", "Choose another file; the report is kept in the run's folder."
        ) from None
