"""Lines on a part of the screen: folded to its width, scrolled, and drawn only where they are seen.

What stands in them was said by strangers. Here is the one place where it becomes something that is drawn: everything
hidden is made visible, and nothing in it is taken for markup. A line that is too long goes on in the next one, after a
mark in a column that no text can reach.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias

from rich.cells import cell_len, chop_cells
from rich.console import Console
from rich.text import Text
from textual import events
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from interlock.cli.render import visible
from interlock.cli.watching.card import Line

_LABEL = 12
_GUTTER, _GOES_ON = "  ", "↪ "
_NARROWEST = 20
_CONSOLE = Console()
"""Only for the styles of texts; nothing is printed with it."""

Make: TypeAlias = Callable[[int], Sequence[Text]]
"""Makes the lines for a width."""


class Pane(ScrollView, can_focus=False):
    """Lines, of which one may be marked."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"pane--marked"}

    def __init__(self, make: Make, *, id: str) -> None:
        super().__init__(id=id)
        self._make = make
        self._lines: Sequence[Text] = ()
        self._marked: int | None = None

    @property
    def lines(self) -> list[str]:
        """What stands here, as text."""
        return [each.plain for each in self._lines]

    def renew(self, marked: int | None = None) -> None:
        """Make the lines anew, and mark one of them."""
        width = self.scrollable_content_region.width
        self._lines = self._make(max(width, _NARROWEST))
        self._marked = marked
        self.virtual_size = Size(width, len(self._lines))
        if marked is not None:
            self.scroll_to_region(Region(0, marked, 1, 1), animate=False)
        self.refresh()

    def on_resize(self, event: events.Resize) -> None:
        self.renew(self._marked)

    def render_line(self, y: int) -> Strip:
        at, width = self.scroll_offset.y + y, self.size.width
        if at >= len(self._lines):
            return Strip.blank(width, self.rich_style)
        marked = at == self._marked
        style = self.get_component_rich_style("pane--marked") if marked else self.rich_style
        strip = Strip(self._lines[at].render(_CONSOLE)).adjust_cell_length(width)
        return strip.apply_style(style)


def cut(text: str, width: int) -> str:
    """A text of a stranger in exactly so many columns, for a table; what is left out is marked."""
    told = Text(visible(text))
    told.truncate(width, overflow="ellipsis", pad=True)
    return told.plain


def folded(line: Line, width: int) -> list[Text]:
    """A line of a card in as many lines as it takes."""
    style = "bold red" if line.alarming else ""
    if line.label:
        first, *rest = _chopped(visible(line.text), width - _LABEL)
        head = Text.assemble((f"{line.label:<{_LABEL}}", "dim"), (first, style))
        return [head, *(Text.assemble(" " * _LABEL, (each, style)) for each in rest)]
    first, *rest = _chopped(visible(line.text), width - len(_GUTTER) - len(line.prefix))
    head = Text.assemble(_GUTTER, (line.prefix, "dim"), (first, style))
    return [head, *(Text.assemble((_GOES_ON, "dim"), (line.prefix, "dim"), (each, style)) for each in rest)]


def _chopped(text: str, width: int) -> list[str]:
    """The pieces of a text that each fit; together they are the text. Broken at a space where one is near."""
    pieces: list[str] = []
    left = ""
    # In steps of a few lines: to look at the whole rest for each line would take too long.
    step = width * 4
    for chunk in (text[at : at + step] for at in range(0, len(text), step)):
        left += chunk
        while cell_len(left) > width:
            piece = chop_cells(left[: width + 1], width)[0]
            space = piece.rfind(" ") + 1
            piece = piece[:space] if space > width // 2 and len(piece) < len(left) else piece
            pieces.append(piece)
            left = left[len(piece) :]
    return [*pieces, left] if left or not pieces else pieces
