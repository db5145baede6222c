"""The screen of `interlock approval watch`: what waits, one of it in full, and keys to answer.

A key answers what is shown and nothing else: the id and the digest of the call in the pane are sent. What has only just
come to stand there by itself is not answered by a key that was meant for something before it, and a dangerous call
takes the key twice.
"""

import contextlib
import sys
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar

from rich.text import Text
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.widgets import Static

from interlock.cli.answering import approve, deny, outcome_of
from interlock.cli.gateway import Api
from interlock.cli.prompts import DenyPrompt, Given, ScopePrompt
from interlock.cli.render import STYLES, span, visible
from interlock.cli.watching.card import card, is_grave, seconds_left, standing
from interlock.cli.watching.follow import Happened, Lost, News, Waiting, follow, present_api, waiting
from interlock.cli.watching.pane import Pane, cut, folded
from interlock.cli.watching.queue import Change, Queue
from interlock.clock import Clock, SystemClock
from interlock.errors import Exit, InterlockError, sentence
from interlock.store.folder import DataFolder

_A_LOOK = 500_000
"""For so many microseconds after it came by itself a call is not answered: a key may have been meant for another."""
_ARMED = 10_000_000
"""The second press has to come within so many microseconds of the first."""
_NARROW = 64
"""With fewer columns a row has no room for who asks."""
_HINTS = " ↑↓ choose   space more   a approve   A how widely   d deny   q quit"
_CSS = """
Screen { layout: vertical; }
#head { height: 1; background: $panel; color: $foreground; }
#head.lost { background: $error; color: $text; }
#body { height: 1fr; layout: vertical; }
#list { height: auto; max-height: 40%; min-height: 1; overflow-x: hidden; scrollbar-size-vertical: 1; padding: 0 1; }
#detail { height: 1fr; overflow-x: hidden; border-top: solid $primary; scrollbar-size-vertical: 1; padding: 0 1; }
.-wide #body { layout: horizontal; }
.-wide #list { width: 42%; height: 100%; max-height: 100%; }
.-wide #detail { width: 1fr; height: 100%; border-top: none; border-left: solid $primary; }
Pane > .pane--marked { background: $primary 40%; text-style: bold; }
#message { height: auto; max-height: 3; min-height: 1; padding: 0 1; color: $text; }
#message.asks { background: $warning; color: $text; text-style: bold; }
#hints { height: 1; background: $panel; color: $text-muted; }
ModalScreen { align: center middle; }
.prompt { width: 72; max-width: 95%; height: auto; max-height: 90%; border: round $primary; padding: 0 1;
          background: $surface; }
.prompt OptionList { height: auto; max-height: 12; border: none; margin: 1 0; }
.prompt Input { margin: 1 0; }
.hint { color: $text-muted; }
"""


class WatchApp(App[Exit | InterlockError]):
    """Everything that is on the screen. Its result is how the command ends."""

    CSS = _CSS
    ENABLE_COMMAND_PALETTE = False
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (110, "-wide")]  # noqa: RUF012 - the class above declares it so
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,j", "move(1)"),
        Binding("up,k", "move(-1)"),
        Binding("space,pagedown", "page(1)"),
        Binding("b,pageup", "page(-1)"),
        Binding("a", "approve"),
        Binding("A", "widen"),
        Binding("d", "deny"),
        Binding("q", "leave(0)"),
        Binding("ctrl+c", "leave(130)", priority=True),
    ]

    def __init__(self, connect: Callable[[], Api], clock: Clock, *, bell: bool) -> None:
        super().__init__()
        self._connect = connect
        self._clock = clock
        self._rings = bell
        self.queue = Queue()
        self._came_at: int | None = None
        """When the chosen one came to be chosen by itself; None when the reviewer chose it."""
        self._armed: tuple[str, int] | None = None
        """The dangerous call for which the key was pressed once, and when."""
        self._under_way: set[str] = set()
        self._lost = False
        self.failure: BaseException | None = None
        """A defect that ended it."""
        self._head = Static(id="head", markup=False)
        self._list = Pane(self._rows, id="list")
        self._detail = Pane(self._card, id="detail")
        self._message = Static(id="message", markup=False)
        self._rest: tuple[Mapping[str, Any], int, list[Text]] | None = None
        """The folded card of what is chosen, which is long and rarely changes."""

    def compose(self) -> ComposeResult:
        yield self._head
        with Container(id="body"):
            yield self._list
            yield self._detail
        yield self._message
        yield Static(_HINTS, id="hints", markup=False)

    def on_mount(self) -> None:
        self.set_interval(1.0, self._renew)
        self.run_worker(self._follow(), name="follow")
        self._renew()

    def _fatal_error(self) -> None:
        # The library would print the variables of every frame: the credential is among them, and what agents said.
        self.failure = sys.exc_info()[1]
        self._close_messages_no_wait()

    # What is heard ----------------------------------------------------------------------------------------------

    async def _follow(self) -> None:
        try:
            await follow(self._connect, self._hear)
        except InterlockError as failed:
            self.exit(failed)

    def _hear(self, news: News) -> None:
        before = self.queue.chosen
        self._lost = isinstance(news, Lost)
        match news:
            case Waiting():
                arrived = self.queue.begin(news)
            case Happened():
                change = self.queue.take(news)
                arrived = change is Change.ARRIVED
                if change is Change.ENDED:
                    self._say(_ended(news.approval))
            case Lost():
                arrived = False
                self._say(f"{sentence(news.why)} Looking for it again.")
        if before is None and self.queue.chosen is not None:
            self._came_at = self._clock.ticks()
        if arrived and self._rings:
            self.bell()
        if isinstance(news, Happened) and self.queue.wants_more:
            self.run_worker(self._fill(), group="filling", exclusive=True)
        self._renew()

    async def _fill(self) -> None:
        """Ask for those that there was no room for."""
        with contextlib.suppress(InterlockError):  # whoever follows the stream hears of it too
            self.queue.begin(await waiting(self._connect()))
        self._renew()

    # What is shown ----------------------------------------------------------------------------------------------

    def _renew(self) -> None:
        count = f"{self.queue.total} waiting"
        more = f", {self.queue.unseen} of them not shown" if self.queue.unseen else ""
        self._head.set_class(self._lost, "lost")
        self._head.update(f" Interlock   {count}{more}   {'gateway lost, looking for it' if self._lost else 'live'}")
        self._list.renew(self.queue.position if self.queue.items else None)
        self._detail.renew()

    def _rows(self, width: int) -> list[Text]:
        now = self._clock.now()
        return [self._row(each, width, now) for each in self.queue.items]

    def _row(self, approval: Mapping[str, Any], width: int, now: int) -> Text:
        waits = approval["status"] == "pending"
        left = span(seconds_left(approval, now)) if waits else approval["status"]
        safety_class = approval["safety_class"]
        row = Text.assemble(
            "▶ " if approval is self.queue.chosen else "  ",
            (f"{left:<9} ", "" if waits else "dim"),
            (f"{cut(safety_class, 13)} ", STYLES.get(safety_class, "") if waits else "dim"),
        )
        room = width - row.cell_len
        who = 20 if width >= _NARROW else 0
        row.append(cut(approval["tool_name"], max(room - who - 9 if who else room, 8)), "" if waits else "dim")
        if who:
            row.append(f" {cut(approval['requester'], who - 1)} {approval['id'][-8:]}", "dim")
        return row

    def _card(self, width: int) -> list[Text]:
        chosen = self.queue.chosen
        if chosen is None:
            return [Text(), Text("Nothing waits for approval. Calls that are held appear here by themselves.", "dim")]
        head, *rest = card(chosen, self._clock.now())
        known = self._rest
        if known is None or known[0] is not chosen:
            self._detail.scroll_home(animate=False)
        if known is None or known[0] is not chosen or known[1] != width:  # at another width whoever reads stays there
            known = self._rest = chosen, width, [each for line in rest for each in folded(line, width)]
        return [*folded(head, width), *known[2]]

    def _say(self, text: str, *, asks: bool = False) -> None:
        """Tell something in the line for messages; what asks for a key stands out."""
        self._message.set_class(asks, "asks")
        self._message.update(Text(visible(text)))

    # Keys -------------------------------------------------------------------------------------------------------

    def on_click(self, event: events.Click) -> None:
        at = None if event.widget is not self._list else event.y + self._list.scroll_offset.y
        if at is not None and at < len(self.queue.items):
            self.action_move(at - self.queue.position)

    def action_move(self, step: int) -> None:
        self._armed = self._came_at = None
        self.queue.move(step)
        self._say("")
        self._renew()

    def action_page(self, step: int) -> None:
        (self._detail.scroll_page_down if step > 0 else self._detail.scroll_page_up)(animate=False)

    def action_leave(self, code: int) -> None:
        self.exit(Exit(code))

    def action_approve(self) -> None:
        chosen = self._answerable()
        if chosen is None:
            return
        now = self._clock.ticks()
        armed, self._armed = self._armed, None
        if is_grave(chosen) and (armed is None or armed[0] != chosen["id"] or now - armed[1] > _ARMED):
            self._armed = chosen["id"], now
            self._say(f"{chosen['tool_name']} is {chosen['safety_class']}: press a again to approve it.", asks=True)
            return
        self._send(chosen, lambda api: approve(api, chosen, {}))

    def action_widen(self) -> None:
        self._armed = None
        chosen = self._answerable()
        if chosen is None:
            return

        def chose(given: Given | None) -> None:
            if given is not None:
                self._send(chosen, lambda api: approve(api, chosen, given))

        self.push_screen(ScopePrompt(chosen), chose)

    def action_deny(self) -> None:
        self._armed = None
        chosen = self._answerable()
        if chosen is None:
            return

        def said(reason: str | None) -> None:
            if reason is not None:
                self._send(chosen, lambda api: deny(api, chosen, reason or None))

        self.push_screen(DenyPrompt(chosen), said)

    # Answers ----------------------------------------------------------------------------------------------------

    def _answerable(self) -> Mapping[str, Any] | None:
        """What a key that answers is about; None, with a word, when there is nothing to answer."""
        chosen = self.queue.chosen
        if chosen is None or chosen["id"] in self._under_way:
            return None
        if chosen["status"] != "pending":
            self._say(f"{_ended(chosen)} Move on with the arrows.")
            return None
        if self._came_at is not None and self._clock.ticks() - self._came_at < _A_LOOK:
            self._say("This call has only just come: look at it first.")
            return None
        return chosen

    def _send(self, approval: Mapping[str, Any], answer: Callable[[Api], Awaitable[dict[str, Any]]]) -> None:
        self._under_way.add(approval["id"])
        self._say("…")
        self.run_worker(self._answer(approval["id"], answer), group="answers")

    async def _answer(self, approval_id: str, answer: Callable[[Api], Awaitable[dict[str, Any]]]) -> None:
        try:
            answered = await answer(self._connect())
        except InterlockError as refused:
            self._say(f"{refused.reason.text} {refused.reason.fix}")
        else:
            self.queue.answered(answered)
            self._say(outcome_of(answered))
        finally:
            self._under_way.discard(approval_id)
        self._renew()


def _ended(approval: Mapping[str, Any]) -> str:
    return f"{approval['tool_name']} was {approval['status']} {standing(approval, 0)}."


def watch_on_screen(folder: DataFolder, *, bell: bool) -> Exit:
    """Show the screen until the reviewer leaves."""
    app = WatchApp(lambda: present_api(folder), SystemClock(), bell=bell)
    outcome = app.run()
    if isinstance(outcome, InterlockError):
        raise outcome
    if app.failure is not None:
        raise app.failure
    return Exit.INTERNAL if outcome is None else outcome
