"""Writing HTML from values, so that no text becomes anything but text.

A piece of markup is made only by `element` and `style_sheet`; every other string that is put inside one is escaped, and
its hidden characters are made visible. So a report cannot forget to escape: there is no way to put a raw string in.
"""

from html import escape

from interlock.lab.report.shown import shown

_EMPTY = frozenset({"meta", "rect", "line"})
"""Elements that hold nothing."""


class Markup(str):
    """HTML that this module wrote."""

    __slots__ = ()


Child = str | Markup | None


def element(name: str, /, *children: Child, **attributes: str | float) -> Markup:
    """An element. In the names of attributes `_` stands for `-`, and one at the end for nothing: `class_`."""
    told = "".join(f' {key.rstrip("_").replace("_", "-")}="{_text(str(value))}"' for key, value in attributes.items())
    if name in _EMPTY:
        return Markup(f"<{name}{told}>" if name == "meta" else f"<{name}{told}/>")
    inner = "".join(each if isinstance(each, Markup) else _text(each) for each in children if each is not None)
    return Markup(f"<{name}{told}>{inner}</{name}>")


def together(*children: Child) -> Markup:
    """Several pieces, one after another."""
    return Markup("".join(each if isinstance(each, Markup) else _text(each) for each in children if each is not None))


def style_sheet(rules: str) -> Markup:
    """The one piece that is taken as it is: rules of ours, with nothing of anybody else in them."""
    return Markup(f"<style>{rules}</style>")


def document(head: Markup, body: Markup) -> str:
    """A whole page."""
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body>{body}</body>\n</html>\n'


def _text(text: str) -> str:
    return escape(shown(text), quote=True)
