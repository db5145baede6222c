"""What the upstream of the tests has beside tools, and how it tells of changes. Imported by `server.py`.

Some resources with fields that no protocol knows, a template, prompts, completion; with `--many N` so many resources
more, listed in small pages. Whoever subscribed or listens hears of changes, in the way of its era.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from tools import INVALID_PARAMS, Message, Notify, Refused

PAGE = 300
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
CAPABILITIES: Message = {
    "tools": {"listChanged": True},
    "resources": {"listChanged": True, "subscribe": True},
    "prompts": {"listChanged": True},
    "completions": {},
    "logging": {},
}
TEMPLATES = [{"uriTemplate": "note:///by-name/{name}", "name": "by name", "vendorField": 1.50}]
NAMES = ["ada", "adele", "bob"]
LISTS = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
}


def resource(uri: str) -> Message:
    return {"uri": uri, "name": uri.rpartition("/")[2], "vendorField": {"kept": [1, 2.50, None]}}


def prompt(name: str) -> Message:
    arguments = [{"name": "name", "required": True, "vendorField": True}]
    return {"name": name, "description": "Greet somebody.", "arguments": arguments, "vendorField": "kept"}


class Rest:
    """Resources, prompts and who wants to hear of them."""

    def __init__(self, many: int = 0) -> None:
        self.resources = [resource("note:///readme"), resource("note:///logo")]
        self.resources += [resource(f"many:///{number}") for number in range(many)]
        self.prompts = [prompt("greet")]
        self.streams: dict[str, Notify] = {}
        """How to tell each legacy session something outside of a request."""
        self._watched: set[tuple[str, str]] = set()
        self._listening: dict[object, tuple[Message, Message, Notify]] = {}

    def answer(self, method: str, params: Message, session: str) -> Message | None:
        """The answer to a request; None when it is none of these."""
        answers: dict[str, Callable[[], Message]] = {
            "resources/list": lambda: self._page("resources", self.resources, params),
            "resources/templates/list": lambda: {"resourceTemplates": TEMPLATES},
            "prompts/list": lambda: {"prompts": self.prompts},
            "resources/read": lambda: self._read(params.get("uri")),
            "prompts/get": lambda: self._prompt(params),
            "completion/complete": lambda: self._complete(params),
            "resources/subscribe": lambda: self._watch(session, params["uri"], self._watched.add),
            "resources/unsubscribe": lambda: self._watch(session, params["uri"], self._watched.discard),
            "logging/setLevel": dict,
        }
        return answers[method]() if method in answers else None

    def _watch(self, session: str, uri: str, change: Callable[[tuple[str, str]], None]) -> Message:
        change((session, uri))
        return {}

    def _complete(self, params: Message) -> Message:
        begun = params["argument"]["value"]
        return {"completion": {"values": [each for each in NAMES if each.startswith(begun)]}, "vendorField": 1.50}

    def _read(self, uri: Any) -> Message:
        return {"contents": [self._content(uri)], "vendorField": {"exact": 1.50}}

    def _page(self, member: str, entries: list[Message], params: Message) -> Message:
        begin = int(params.get("cursor", 0))
        more = {"nextCursor": str(begin + PAGE)} if begin + PAGE < len(entries) else {}
        return {member: entries[begin : begin + PAGE], **more}

    def _content(self, uri: Any) -> Message:
        if uri == "note:///logo":
            return {"uri": uri, "mimeType": "image/png", "blob": "AAEC", "vendorField": 1.50}
        if uri in [each["uri"] for each in self.resources] or str(uri).startswith("note:///by-name/"):
            return {"uri": uri, "mimeType": "text/plain", "text": f"This is {uri}.", "vendorField": {"kept": True}}
        raise Refused(INVALID_PARAMS, "There is no such resource.", {"uri": uri})

    def _prompt(self, params: Message) -> Message:
        if params.get("name") not in [each["name"] for each in self.prompts]:
            raise Refused(INVALID_PARAMS, "There is no such prompt.")
        arguments: Message = params.get("arguments") or {}
        said = f"Say hello to {arguments.get('name')}."
        return {"messages": [{"role": "user", "content": {"type": "text", "text": said, "vendorField": 1.50}}]}

    # Telling ----------------------------------------------------------------------------------------------------

    async def listen(self, message: Message, notify: Notify) -> Message:
        """Serve a modern request to listen until it is cancelled."""
        wanted, meta, key = message["params"]["notifications"], {SUBSCRIPTION: message["id"]}, object()
        self._listening[key] = (wanted, meta, notify)
        try:
            await notify("notifications/subscriptions/acknowledged", {"notifications": wanted, "_meta": meta})
            await asyncio.Event().wait()
        finally:
            del self._listening[key]
        return {}

    async def tell(self, method: str) -> None:
        """Tell everybody who wants to hear it that a list has changed."""
        for notify in list(self.streams.values()):
            await notify(method, {})
        for wanted, meta, notify in list(self._listening.values()):
            if wanted.get(LISTS[method]):
                await notify(method, {"_meta": meta})

    async def touch(self, uri: str) -> None:
        """Tell whoever watches a resource that it has changed."""
        for session, notify in list(self.streams.items()):
            if (session, uri) in self._watched:
                await notify("notifications/resources/updated", {"uri": uri})
        for wanted, meta, notify in list(self._listening.values()):
            if uri in wanted.get("resourceSubscriptions", []):
                await notify("notifications/resources/updated", {"uri": uri, "_meta": meta})

    async def add(self, uri: str | None, name: str | None) -> None:
        """Have one resource or prompt more, and say so."""
        if uri is not None:
            self.resources.append(resource(uri))
            await self.tell("notifications/resources/list_changed")
        if name is not None:
            self.prompts.append(prompt(name))
            await self.tell("notifications/prompts/list_changed")
