"""What is looked for on a page that shows strangers' text: that it is there as text, and did nothing else."""

import os
from typing import Any

from playwright.sync_api import Page, expect

EACH = int(os.environ.get("INTERLOCK_TEST_HOSTILE", "67"))
"""Every how many of the hostile strings is opened by itself; in the lists they all are."""
SHORT = 2_000
"""Longer than most fields become on their way through the gateway."""

_LOOK = """() => {
  const all = (what) => [...document.querySelectorAll(`#app ${what}`)];
  const strangers = all(':is(script, iframe, object, embed, base, meta, link, style)').length;
  const links = all('a[href]').filter(each => new URL(each.href).origin !== location.origin).length;
  const pictures = all('img').filter(each => !each.src.endsWith('/assets/icon.svg')).length;
  const hidden = [];
  const look = (text, where) => {
    for (const [found] of text.matchAll(/[\\p{Cc}\\p{Cf}\\p{Zl}\\p{Zp}]/gu)) {
      if (!'\\n\\t'.includes(found)) hidden.push(`${found.codePointAt(0).toString(16)} in ${where}`);
    }
  };
  const walker = document.createTreeWalker(document.getElementById('app'), NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) look(node.data, node.parentElement.className);
  for (const name of ['title', 'aria-label', 'placeholder', 'alt', 'label']) {
    all(`[${name}]`).forEach(each => look(each.getAttribute(name), name));
  }
  all('datalist option').forEach(each => look(each.value, 'datalist'));
  look(document.title, 'the title');
  return { pwned: window.pwned ?? null, strangers, links, pictures, hidden: [...new Set(hidden)] };
}"""
_GO = """async address => {
  history.pushState(null, '', address);
  dispatchEvent(new PopStateEvent('popstate'));
  for (let turn = 0; turn < 2; turn += 1) await new Promise(requestAnimationFrame);
}"""
_UNFOLD = """async () => {
  const folded = () => [...document.querySelectorAll('#main details:not([open])')];
  for (let turn = 0; turn < 5 && folded().length; turn += 1) {
    folded().forEach(each => (each.open = true));
    for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
  }
}"""

NOTHING: dict[str, Any] = {"pwned": None, "strangers": 0, "links": 0, "pictures": 0, "hidden": []}


def go(page: Page, *words: str, query: str = "") -> None:
    """Go to another page of the dashboard without loading it anew, as a link does it."""
    page.evaluate(f"({_GO})", path_of(page, *words) + query)


def path_of(page: Page, *words: str) -> str:
    """The address of a page, written by the browser as the pages themselves write it."""
    return page.evaluate("words => '/' + words.map(encodeURIComponent).join('/')", list(words))


def query_of(page: Page, **fields: str) -> str:
    """The same of what stands behind the question mark."""
    return page.evaluate("fields => '?' + new URLSearchParams(fields)", fields)


def quiet(page: Page) -> Any:
    """What a page does beside showing text, once it has fetched everything: it should be `NOTHING`."""
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    return page.evaluate(_LOOK)


def unfolded(page: Page) -> Any:
    """The same with everything open that can be opened on it."""
    expect(page.locator("[aria-busy=true]")).to_have_count(0)
    page.evaluate(_UNFOLD)
    return quiet(page)
