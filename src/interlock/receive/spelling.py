"""How a client spells the resources and prompts of many servers, and whose a spelling is.

A prompt is `namespace__prompt`. A URI gets the namespace in front of its scheme, `namespace+file:///x`, which keeps it
a URI: `+` may stand in a scheme. Results are passed on unchanged, so clients also meet URIs as the servers spell them;
such a bare URI is taken when there is no doubt whose it is. Without namespacing there is one server, and names are its
own.

Pure. Nothing here guesses: in doubt the client is told which spellings there are.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from interlock import errors
from interlock.core.offers import Kind, Offer
from interlock.errors import Reason

MAX_SHOWN = 200
"""How much of a name is repeated in an error."""
MAX_FORMS = 10
_EXPRESSION = re.compile(r"\{[^{}]*\}")


@dataclass(frozen=True, slots=True)
class Found:
    """What a spelling stands for. `prefix` is what stood before the server's own name, and stands there in answers."""

    server: str
    name: str
    prefix: str = ""


@dataclass(frozen=True, slots=True)
class Spelling:
    """The way of this gateway: with namespaces, or without."""

    namespacing: bool = True

    def prefix(self, kind: Kind, offer: Offer) -> str:
        """What stands before the name of an entry."""
        if not self.namespacing:
            return ""
        return f"{offer.namespace}__" if kind is Kind.PROMPTS else f"{offer.namespace}+"

    def find_prompt(self, name: str, offers: Sequence[Offer]) -> Found | Reason:
        """The prompt that a name stands for, among those of these servers."""
        for offer in offers:
            prefix = self.prefix(Kind.PROMPTS, offer)
            if name.startswith(prefix) and name != prefix:
                return Found(offer.server, name.removeprefix(prefix), prefix)
        return errors.NOT_FOUND(what=f"Prompt '{name[:MAX_SHOWN]}'", suggestion="")

    def find_uri(self, uri: str, offers: Sequence[Offer]) -> Found | Reason:
        """The resource, or template, that a URI stands for, among those of these servers."""
        prefixes = {offer.server: self.prefix(Kind.RESOURCES, offer) for offer in offers}
        named = [each for each in offers if uri.startswith(prefixes[each.server]) and uri != prefixes[each.server]]
        sure = [each for each in named if _lists(each, uri.removeprefix(prefixes[each.server]))]
        # A scheme may have a plus of its own: what a server really lists counts before what a prefix looks like.
        owners = sure or _owners(uri, offers) or named or (offers if len(offers) == 1 else [])
        if len(owners) == 1:
            prefix = prefixes[owners[0].server] if owners[0] in named else ""
            return Found(owners[0].server, uri.removeprefix(prefix), prefix)
        return self._doubt(uri, owners or offers)

    def _doubt(self, uri: str, offers: Sequence[Offer]) -> Reason:
        if not offers:
            return errors.NOT_FOUND(what=f"Resource '{uri[:MAX_SHOWN]}'", suggestion="")
        forms = [f"{self.prefix(Kind.RESOURCES, each)}{uri[:MAX_SHOWN]}" for each in offers[:MAX_FORMS]]
        return errors.AMBIGUOUS_URI(uri=uri[:MAX_SHOWN], forms=", ".join(forms))


def _owners(uri: str, offers: Sequence[Offer]) -> list[Offer]:
    """The servers that list a URI as it is, or else those that have a template for it."""
    listing = [each for each in offers if uri in each.of(Kind.RESOURCES) or uri in each.of(Kind.TEMPLATES)]
    return listing or [each for each in offers if _has_template(each, uri)]


def _lists(offer: Offer, uri: str) -> bool:
    return bool(_owners(uri, [offer]))


def _has_template(offer: Offer, uri: str) -> bool:
    return any(template_fits(template, uri) for template in offer.of(Kind.TEMPLATES))


def template_fits(template: str, uri: str) -> bool:
    """Whether a URI could have come from a template: what stands between its expressions occurs in that order.

    A template is the word of a server and a URI that of an agent, so this takes time in proportion to both and no more,
    which a regular expression made of the template would not.
    """
    first, *others = _EXPRESSION.split(template)
    if not others:
        return template == uri
    *between, last = others
    if len(uri) < len(first) + len(last) or not uri.startswith(first) or not uri.endswith(last):
        return False
    at, end = len(first), len(uri) - len(last)
    for part in between:
        at = uri.find(part, at, end)
        if at < 0:
            return False
        at += len(part)
    return True
