"""A run as one page."""

from html.parser import HTMLParser

import pytest
from msgspec.structs import replace

from interlock.lab.model import Finding, Severity
from interlock.lab.report.html import MOST_CALLS, POLICY, html_of
from interlock.lab.run import NOTHING_CLEANED_UP
from tests.browser.hostile import HOSTILE
from tests.lab.runs import CALLS, a_run, a_run_that_says

OURS = frozenset(
    "html head meta title style body main header section article h1 h2 h3 p dl div dt dd ul li span code strong "
    "svg rect line figure figcaption table thead tbody tr th td".split()
)
ATTRIBUTES = frozenset(
    "lang charset http-equiv content name class viewbox preserveaspectratio role aria-label aria-hidden x y width "
    "height x1 y1 x2 y2 tabindex scope".split()
)

WORDS = [each for each in HOSTILE if each]


class Reader(HTMLParser):
    """What a browser would make of a page: its elements, their attributes, its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[str] = []
        self.attributes: set[str] = set()
        self.metas: list[dict[str, str | None]] = []
        self.words: list[str] = []
        self.depth = 0
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "meta":
            self.metas.append(dict(attrs))
        else:
            self.depth += 1

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        self.depth -= 1

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)


def test_a_page_tells_the_plan_the_findings_the_calls_and_the_notes() -> None:
    text = Reader(html_of(a_run())).text

    for each in (
        "probe of notes",
        "notes-server 1.2",
        "ExecuteOnce",
        "It is destructive.",
        "Fix: Answer each request.",
    ):
        assert each in text
    assert "result: {}" in text
    assert "20 ok, 1 rpc-error" in text
    assert "act-20" in text
    assert NOTHING_CLEANED_UP in text


def test_a_page_forbids_scripts_and_everything_from_elsewhere() -> None:
    page = Reader(html_of(a_run()))

    policies = [each.get("content") for each in page.metas if each.get("http-equiv") == "Content-Security-Policy"]
    assert policies == [POLICY]
    assert "default-src 'none'" in POLICY
    assert "script" not in page.elements


def test_a_page_asks_for_nothing() -> None:
    assert Reader(html_of(a_run())).attributes.isdisjoint({"src", "href", "srcset", "action", "style"})


def test_every_call_is_drawn_where_its_time_puts_it() -> None:
    page = html_of(replace(a_run(), calls=CALLS[:2], plan=[]))

    assert page.count('y="2"') == 2
    assert 'x="99.0"' in page


def test_more_calls_than_a_browser_can_lay_out_are_counted() -> None:
    page = Reader(html_of(replace(a_run(), calls=CALLS[:1] * (MOST_CALLS + 7))))

    assert page.elements.count("tr") == MOST_CALLS + 1
    assert "7 more are in the JSON report." in page.text


def test_a_run_that_found_nothing_says_so() -> None:
    text = Reader(html_of(replace(a_run(), plan=[], calls=[], findings=[], notes=[]))).text

    assert "There are none." in text


def test_calls_that_took_no_time_are_drawn_at_the_left() -> None:
    still = [replace(CALLS[0], milliseconds=0.0)]

    assert "probe of notes" in Reader(html_of(replace(a_run(), calls=still))).text


@pytest.mark.parametrize("text", WORDS, ids=range(len(WORDS)))
def test_no_text_becomes_anything_but_text(text: str) -> None:
    page = Reader(html_of(a_run_that_says(text)))

    assert set(page.elements) <= OURS
    assert page.attributes <= ATTRIBUTES
    assert page.depth == 0
    assert page.elements == Reader(html_of(a_run_that_says("plain"))).elements


def test_infos_that_say_the_same_of_many_tools_are_one_card() -> None:
    found = [Finding("no-annotations", Severity.INFO, "It says nothing.", f"t{each}", "") for each in range(7)]
    page = html_of(replace(a_run(), findings=found))

    assert page.count("It says nothing.") == 1
    assert "t0, t1, t2, t3, t4 and 2 more" in page
    assert "Tools <code>" in page
