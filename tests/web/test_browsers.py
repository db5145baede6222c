"""Browsers that are signed in: what a code, a cookie and the second secret each are good for, and for how long."""

from dataclasses import replace

import pytest

from interlock.errors import Reason
from interlock.receive.identify import Callers, Principal, mint
from interlock.web.browsers import BROWSER_SECONDS, CODE_SECONDS, MOST_BROWSERS, MOST_CODES, Browsers, Found, SignedIn
from tests.fakes import FakeClock

SECOND = 1_000_000
NOW = 1_790_000_000_000_000


class Door:
    """Browsers, the clock they go by, and a person with a token."""

    def __init__(self) -> None:
        self.clock = FakeClock(NOW)
        self.callers = Callers(self.clock, allow_local=True)
        self.browsers = Browsers(self.clock, self.callers, 7373)
        self.token, self.text = mint("boss", "human", ["approver"], NOW, None)
        self.callers.add(self.token)

    @property
    def person(self) -> Principal:
        found = self.callers.identify(f"Bearer {self.text}")
        assert isinstance(found, Principal)
        return found

    def signed_in(self) -> SignedIn:
        found = self.browsers.sign_in(self.browsers.code_for(self.person)[0])
        assert found is not None
        return found

    def asks(self, who: SignedIn, method: str = "GET", **headers: str) -> Found | Reason | None:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.browsers.identify(method, {"cookie": f"interlock_7373={who.cookie}", **named})


@pytest.fixture
def door() -> Door:
    return Door()


def test_a_code_signs_in_once(door: Door) -> None:
    code, _ = door.browsers.code_for(door.person)

    assert door.browsers.sign_in(code) is not None
    assert door.browsers.sign_in(code) is None


def test_a_code_is_good_for_ten_minutes(door: Door) -> None:
    code, until = door.browsers.code_for(door.person)
    door.clock.forward(CODE_SECONDS * SECOND)

    assert until == NOW + 600 * SECOND
    assert door.browsers.sign_in(code) is None


def test_a_code_is_worth_nothing_once_the_token_it_was_made_with_is_revoked(door: Door) -> None:
    code, _ = door.browsers.code_for(door.person)
    door.callers.drop(door.token.id)

    assert door.browsers.sign_in(code) is None


@pytest.mark.parametrize("code", ["", "x", "\udcff", "il_000000000000_" + "x" * 43])
def test_what_is_no_code_signs_nobody_in(door: Door, code: str) -> None:
    assert door.browsers.sign_in(code) is None


def test_of_many_codes_the_oldest_makes_room(door: Door) -> None:
    codes = [door.browsers.code_for(door.person)[0] for _ in range(MOST_CODES + 1)]

    assert door.browsers.sign_in(codes[0]) is None
    assert door.browsers.sign_in(codes[1]) is not None


def test_of_many_browsers_the_oldest_is_signed_out(door: Door) -> None:
    browsers = [door.signed_in() for _ in range(MOST_BROWSERS + 1)]

    assert isinstance(door.asks(browsers[0]), Reason)
    assert isinstance(door.asks(browsers[1]), Found)


def test_a_cookie_reads_as_the_person_whose_code_it_was(door: Door) -> None:
    found = door.asks(door.signed_in())

    assert isinstance(found, Found)
    assert found.principal.name == "boss"


@pytest.mark.parametrize("method", ["POST", "DELETE", "PUT", "PATCH", "OPTIONS"])
def test_a_cookie_alone_changes_nothing(door: Door, method: str) -> None:
    someone, other = door.signed_in(), door.signed_in()

    refusals = [
        door.asks(someone, method),
        door.asks(someone, method, x_csrf_token=""),
        door.asks(someone, method, x_csrf_token="x" * 43),
        door.asks(someone, method, x_csrf_token=someone.cookie),
        door.asks(someone, method, x_csrf_token=other.csrf),
    ]
    assert all(isinstance(each, Reason) and each.code == "FORBIDDEN" for each in refusals)
    assert isinstance(door.asks(someone, method, x_csrf_token=someone.csrf), Found)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "anything"])
def test_a_page_of_another_origin_cannot_use_the_cookie_even_to_read(door: Door, site: str) -> None:
    someone = door.signed_in()
    refused = door.asks(someone, sec_fetch_site=site)

    assert isinstance(refused, Reason)
    assert refused.code == "FORBIDDEN"
    assert isinstance(door.asks(someone, sec_fetch_site="same-origin"), Found)


def test_a_browser_is_signed_out_after_twelve_hours(door: Door) -> None:
    someone = door.signed_in()
    door.clock.forward(BROWSER_SECONDS * SECOND - 1)
    before = door.asks(someone)
    door.clock.forward(1)

    assert isinstance(before, Found)
    assert isinstance(door.asks(someone), Reason)


def test_signing_out_ends_one_browser_and_no_other(door: Door) -> None:
    someone, other = door.signed_in(), door.signed_in()
    door.browsers.sign_out(someone.browser)

    assert isinstance(door.asks(someone), Reason)
    assert isinstance(door.browsers.still(someone.browser), Reason)
    assert isinstance(door.asks(other), Found)


def test_a_browser_ends_with_the_token_that_it_came_from(door: Door) -> None:
    someone = door.signed_in()
    door.callers.drop(door.token.id)

    assert isinstance(door.asks(someone), Reason)


def test_a_browser_may_no_more_than_the_token_may_by_now(door: Door) -> None:
    someone = door.signed_in()
    lesser = replace(door.token, roles=("auditor",))
    door.callers.replace([lesser])
    found = door.asks(someone)

    assert isinstance(found, Found)
    assert found.principal.roles == {"auditor"}


@pytest.mark.parametrize("header", ["", "a=b", "interlock_7374=x", "interlock_7373", "\x00=;;;", "a; b; =c"])
def test_a_request_without_a_cookie_of_ours_is_not_about_a_browser(door: Door, header: str) -> None:
    assert door.browsers.identify("GET", {"cookie": header}) is None


@pytest.mark.parametrize("other", ['prefs={"a": 1}', "a b=c", "=x", "path=/", "interlock_7373=zzz", 'q="', "[x]=1"])
def test_what_others_put_beside_our_cookie_does_not_hide_it(door: Door, other: str) -> None:
    someone = door.signed_in()
    for header in (f"{other}; interlock_7373={someone.cookie}", f"interlock_7373={someone.cookie}; {other}"):
        assert isinstance(door.browsers.identify("GET", {"cookie": header}), Found)


def test_nobody_pushes_out_the_codes_and_browsers_of_another(door: Door) -> None:
    someone, (code, _) = door.signed_in(), door.browsers.code_for(door.person)
    other, text = mint("auditor", "human", ["auditor"], NOW, None)
    door.callers.add(other)
    pusher = door.callers.identify(f"Bearer {text}")
    assert isinstance(pusher, Principal)
    for _ in range(MOST_BROWSERS + MOST_CODES):
        door.browsers.sign_in(door.browsers.code_for(pusher)[0])
        door.browsers.code_for(pusher)

    assert isinstance(door.asks(someone), Found)
    assert door.browsers.sign_in(code) is not None


def test_what_is_over_is_not_kept(door: Door) -> None:
    someone = door.signed_in()
    door.browsers.code_for(door.person)
    door.clock.forward(BROWSER_SECONDS * SECOND)
    door.callers.add(door.token)
    door.browsers.code_for(door.person)

    assert someone.browser.id not in repr(vars(door.browsers))


def test_a_cookie_that_nobody_was_given_is_refused(door: Door) -> None:
    refused = door.browsers.identify("GET", {"cookie": "interlock_7373=made-up"})

    assert isinstance(refused, Reason)
    assert refused.code == "UNAUTHENTICATED"


def test_neither_secret_is_kept(door: Door) -> None:
    someone = door.signed_in()
    code, _ = door.browsers.code_for(door.person)
    kept = repr(vars(door.browsers))

    assert not any(secret in kept for secret in (someone.cookie, someone.csrf, code))
