"""The two questions that the screen of `approval watch` asks back: why one call is denied, how widely one is approved.

Each is about the one call for which it was opened, whatever happens behind it meanwhile. Escape leaves everything as it
was.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from interlock.cli.render import span, visible
from interlock.cli.watching.card import scopes

MAX_REASON = 1000
_DURATIONS = (300, 900, 3_600, 28_800)
_WORDS = {"once": "this call, once", "identical": "the same call again", "tool": "any call of the tool"}
_STEPS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))

Given = Mapping[str, str | None]
"""What is sent along with a yes."""


class DenyPrompt(ModalScreen[str | None]):
    """Asks for the reason of a denial. None when it is not to be denied after all; an empty one is none."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "dismiss(None)", "back")]

    def __init__(self, approval: Mapping[str, Any]) -> None:
        super().__init__()
        self._approval = approval

    def compose(self) -> ComposeResult:
        with Vertical(classes="prompt"):
            yield Static(_heading("Deny", self._approval))
            yield Input(placeholder="what the requester is told", max_length=MAX_REASON)
            yield Static("enter denies, with or without a reason · esc goes back", classes="hint", markup=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value.strip())


class ScopePrompt(ModalScreen[Given | None]):
    """Asks how widely a call is approved. None when it is not to be approved after all."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(None)", "back"),
        Binding("j", "step(1)", show=False),
        Binding("k", "step(-1)", show=False),
    ]

    def __init__(self, approval: Mapping[str, Any]) -> None:
        super().__init__()
        self._approval = approval
        self._choices = choices(approval)

    def compose(self) -> ComposeResult:
        with Vertical(classes="prompt"):
            yield Static(_heading("Approve", self._approval))
            yield OptionList(*(Option(Text(words)) for words, _ in self._choices), markup=False)
            yield Static("↑↓ choose · enter approves · esc goes back", classes="hint", markup=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self._choices[event.option_index][1])

    def action_step(self, step: int) -> None:
        options = self.query_one(OptionList)
        (options.action_cursor_down if step > 0 else options.action_cursor_up)()


def _heading(verb: str, approval: Mapping[str, Any]) -> Text:
    told = f"{verb} {approval['tool_name']} ({approval['safety_class']}) of {approval['requester']}"
    return Text(visible(told), style="bold")


def choices(approval: Mapping[str, Any]) -> list[tuple[str, Given]]:
    """The ways in which an approval may be given: in words, and as they are sent."""
    most: int = approval["max_grant_sec"]
    durations = [each for each in _DURATIONS if each < most] + [most]
    found: list[tuple[str, Given]] = [(_WORDS["once"], {"scope": "once"})]
    for scope in scopes(approval)[1:]:
        found += [
            (f"{_WORDS[scope]}, for {span(each)}", {"scope": scope, "duration": sent(each)}) for each in durations
        ]
    return found


def sent(seconds: int) -> str:
    """A duration as REST takes it."""
    unit, size = next((unit, size) for unit, size in _STEPS if seconds % size == 0)
    return f"{seconds // size}{unit}"
