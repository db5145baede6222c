"""Resources, prompts and completions through the wire: official clients in front, servers of both eras behind."""

import asyncio
import json
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import mcp_types as types
import pytest
from mcp.client import Client
from mcp.shared.exceptions import MCPError

from interlock.core.lifecycle import CallState
from interlock.core.offers import Kind
from interlock.receive.identify import TokenScope, mint
from tests.behaviours.conftest import ERAS
from tests.running import Running, keep_token, server_yaml, serving
from tests.talking import NO_TLS
from tests.upstream.everything import everything_argv, everything_over_http, messages
from tests.upstream.running import HttpUpstream, Received, http_upstream, received, stdio_argv

METHODS = ("resources/read", "prompts/get", "completion/complete", "resources/subscribe")
JSON = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture(params=["legacy", "modern"])
def behind(request: pytest.FixtureRequest) -> str:
    """The era of the servers."""
    return request.param


@pytest.fixture
def remote(tmp_path: Path, behind: str) -> Generator[HttpUpstream]:
    with http_upstream(tmp_path / "remote.log", era=behind) as running:
        yield running


@pytest.fixture
async def gateway(tmp_path: Path, log: Path, remote: HttpUpstream, behind: str) -> AsyncGenerator[Running]:
    text = "servers:\n" + server_yaml("up", stdio_argv(log, era=behind)) + f"  far: {{url: '{remote.url}'}}\n"
    async with serving(tmp_path, text) as running:
        yield running


@asynccontextmanager
async def one(folder: Path, text: str = "", *, era: str = "modern", many: int = 0) -> AsyncGenerator[Running]:
    """A gateway in front of one server, `up`."""
    servers = "servers:\n" + server_yaml("up", stdio_argv(folder / "upstream.log", era=era, many=many))
    async with serving(folder, text + servers) as running:
        yield running


def asked(log: Path) -> list[Received]:
    """What of these methods a server received."""
    return [each for each in received(log) if each.method in METHODS]


def sent(each: Received) -> tuple[str | None, Any]:
    """What was asked, without the envelope."""
    return each.method, {key: value for key, value in each.message["params"].items() if key != "_meta"}


async def recorded(running: Running) -> list[tuple[str | None, Any]]:
    """The same, as it is on record as sent."""
    await running.gateway.pipeline.settled()
    return [(each.tool, each.body["arguments"]) for each in await running.activities() if each.verdict == "allow"]


async def token_for(running: Running, name: str, scope: TokenScope) -> dict[str, str]:
    token, text = mint(name, "agent", ("agent",), 0, None, scope)
    await keep_token(running.gateway, token)
    return {"authorization": f"Bearer {text}"}


async def post(
    http: httpx2.AsyncClient, running: Running, method: str, params: dict[str, Any], **headers: str
) -> bytes:
    """A modern request by hand; the answer as it is on the wire."""
    name = params.get("uri") or params.get("name")
    mirrored = {"mcp-method": method, "mcp-protocol-version": "2026-07-28"}
    mirrored |= {"mcp-name": name} if isinstance(name, str) else {}
    given = {**params, "_meta": {**META, **params.get("_meta", {})}}
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": given}
    return (await http.post(running.url, json=body, headers={**JSON, **mirrored, **headers})).content


async def ask(
    http: httpx2.AsyncClient, running: Running, method: str, params: dict[str, Any], **headers: str
) -> dict[str, Any]:
    return json.loads(await post(http, running, method, params, **headers))


async def ask_legacy(running: Running, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """A request by hand in a session of its own."""
    opening = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    async with httpx2.AsyncClient(timeout=30, verify=NO_TLS) as http:
        body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": opening}
        session = (await http.post(running.url, json=body, headers=JSON)).headers["mcp-session-id"]
        body = {"jsonrpc": "2.0", "id": 2, "method": method, "params": params}
        return (await http.post(running.url, json=body, headers={**JSON, "mcp-session-id": session})).json()


@pytest.mark.parametrize("era", ERAS)
async def test_what_the_servers_have_is_listed_under_their_names(gateway: Running, era: str) -> None:
    async with Client(gateway.url, mode=era) as client:
        resources = [each.uri for each in (await client.list_resources()).resources]
        templates = [each.uri_template for each in (await client.list_resource_templates()).resource_templates]
        prompts = [each.name for each in (await client.list_prompts()).prompts]

    assert resources == ["up+note:///readme", "up+note:///logo", "far+note:///readme", "far+note:///logo"]
    assert templates == ["up+note:///by-name/{name}", "far+note:///by-name/{name}"]
    assert prompts == ["up__greet", "far__greet"]


@pytest.mark.parametrize("server", ["up", "far"])
@pytest.mark.parametrize("era", ERAS)
async def test_what_is_listed_can_be_used_and_the_server_gets_what_is_on_record(
    gateway: Running, log: Path, remote: HttpUpstream, era: str, server: str
) -> None:
    ref = types.PromptReference(name=f"{server}__greet")
    template = types.ResourceTemplateReference(uri=f"{server}+note:///by-name/{{name}}")
    async with Client(gateway.url, mode=era) as client:
        text = await client.read_resource(f"{server}+note:///readme")
        blob = await client.read_resource(f"{server}+note:///logo")
        named = await client.read_resource(f"{server}+note:///by-name/ada")
        prompt = await client.get_prompt(f"{server}__greet", {"name": "Ada"})
        completed = await client.complete(ref, {"name": "name", "value": "ad"})
        of_template = await client.complete(template, {"name": "name", "value": "b"})

    assert [(each.uri, getattr(each, "text", None)) for each in (*text.contents, *named.contents)] == [
        (f"{server}+note:///readme", "This is note:///readme."),
        (f"{server}+note:///by-name/ada", "This is note:///by-name/ada."),
    ]
    assert isinstance(blob.contents[0], types.BlobResourceContents)
    assert blob.contents[0].blob == "AAEC"
    assert getattr(prompt.messages[0].content, "text", None) == "Say hello to Ada."
    assert (completed.completion.values, of_template.completion.values) == (["ada", "adele"], ["bob"])
    got = [sent(each) for each in asked(log if server == "up" else remote.log)]
    assert got == await recorded(gateway)
    assert got[0] == ("resources/read", {"uri": "note:///readme"})
    assert len(got) == 6


@pytest.mark.parametrize("era", ERAS)
async def test_an_error_of_the_server_is_passed_on_and_on_record(gateway: Running, era: str) -> None:
    async with Client(gateway.url, mode=era) as client:
        with pytest.raises(MCPError) as error:
            await client.read_resource("up+note:///nothing")
    await gateway.gateway.pipeline.settled()
    (activity,) = await gateway.activities()

    assert (error.value.error.code, error.value.error.message) == (-32602, "There is no such resource.")
    assert error.value.error.data == {"uri": "note:///nothing"}
    assert activity.status is CallState.ERROR


# Names ----------------------------------------------------------------------------------------------------------


async def test_a_bare_uri_is_taken_when_one_server_is_meant_and_its_answer_stays_bare(tmp_path: Path) -> None:
    async with one(tmp_path) as running, Client(running.url, mode="2026-07-28") as client:
        read = await client.read_resource("note:///readme")

    assert read.contents[0].uri == "note:///readme"


async def test_a_bare_uri_of_two_servers_is_refused_with_the_spellings_there_are(gateway: Running, log: Path) -> None:
    async with Client(gateway.url, mode="legacy") as client:
        with pytest.raises(MCPError, match=r"up\+note:///readme, far\+note:///readme") as error:
            await client.read_resource("note:///readme")

    assert error.value.error.code == -32602
    assert asked(log) == []
    assert [(each.tool, each.status) for each in await gateway.activities()] == [("resources/read", CallState.BLOCKED)]


@pytest.mark.parametrize("era", ERAS)
async def test_without_namespacing_names_are_the_servers_own(tmp_path: Path, era: str) -> None:
    async with one(tmp_path, "namespacing: false\n") as running, Client(running.url, mode=era) as client:
        resources = [each.uri for each in (await client.list_resources()).resources]
        prompts = [each.name for each in (await client.list_prompts()).prompts]
        read = await client.read_resource("note:///readme")
        prompt = await client.get_prompt("greet", {"name": "Ada"})

    assert (resources, prompts) == (["note:///readme", "note:///logo"], ["greet"])
    assert read.contents[0].uri == "note:///readme"
    assert len(prompt.messages) == 1


# Who may ---------------------------------------------------------------------------------------------------------


async def test_a_server_out_of_scope_does_not_exist(gateway: Running, remote: HttpUpstream) -> None:
    async with httpx2.AsyncClient(timeout=30, verify=NO_TLS) as http:
        token = await token_for(gateway, "narrow", TokenScope(servers=("up",)))
        listed = await ask(http, gateway, "resources/list", {}, **token)
        prompts = await ask(http, gateway, "prompts/list", {}, **token)
        read = await ask(http, gateway, "resources/read", {"uri": "far+note:///readme"}, **token)
        unknown = await ask(http, gateway, "resources/read", {"uri": "nobody+note:///readme"}, **token)
        prompt = await ask(http, gateway, "prompts/get", {"name": "far__greet"}, **token)
        bare = await ask(http, gateway, "resources/read", {"uri": "note:///readme"}, **token)

    assert [each["uri"] for each in listed["result"]["resources"]] == ["up+note:///readme", "up+note:///logo"]
    assert [each["name"] for each in prompts["result"]["prompts"]] == ["up__greet"]
    assert asked(remote.log) == []
    assert read["error"]["code"] == unknown["error"]["code"] == prompt["error"]["code"] == -32602
    assert "far" not in json.dumps(unknown["error"]).replace("far+note", "")
    assert bare["result"]["contents"][0]["uri"] == "note:///readme"


@pytest.mark.parametrize("era", ERAS)
async def test_a_rule_denies_reading_and_nothing_is_sent(tmp_path: Path, log: Path, era: str) -> None:
    rule = "route_rules: [{id: no-reading, tool_pattern: 'up__resources/read', args: {uri: '*readme'}, effect: deny}]\n"
    async with one(tmp_path, rule) as running, Client(running.url, mode=era) as client:
        with pytest.raises(MCPError) as error:
            await client.read_resource("up+note:///readme")
        other = await client.read_resource("up+note:///logo")
        activities = await running.activities()

    assert error.value.error.code == -32001
    assert error.value.error.data["code"] == "DENIED_BY_RULE"
    assert (activities[0].status, activities[0].rule_id) == (CallState.BLOCKED, "no-reading")
    assert activities[0].body["arguments"] == {"uri": "note:///readme"}
    assert len(other.contents) == 1
    assert [each.message["params"]["uri"] for each in asked(log)] == ["note:///logo"]


async def test_what_a_rule_denies_for_good_is_not_even_listed(tmp_path: Path) -> None:
    rule = "route_rules: [{id: no-prompts, tool_pattern: 'up__prompts/*', effect: deny}]\n"
    async with one(tmp_path, rule) as running, Client(running.url, mode="legacy") as client:
        prompts = (await client.list_prompts()).prompts
        resources = (await client.list_resources()).resources

    assert (len(prompts), len(resources)) == (0, 2)


async def test_a_tool_with_the_name_of_a_method_is_no_way_around(tmp_path: Path, log: Path) -> None:
    async with (
        one(tmp_path, "expose: direct\nposture: open\n") as running,
        Client(running.url, mode="legacy") as client,
    ):
        result = await client.call_tool("up__resources/read", {"uri": "note:///readme"})

    assert result.structured_content is not None
    assert result.structured_content["code"] == "UNKNOWN_TOOL"
    assert asked(log) == []


# What passes, and what does not --------------------------------------------------------------------------------


async def test_fields_that_nobody_knows_survive_byte_for_byte(gateway: Running) -> None:
    async with httpx2.AsyncClient(timeout=30, verify=NO_TLS) as http:
        raw: dict[str, bytes] = {}
        for method, params in (
            ("resources/list", {}),
            ("resources/templates/list", {}),
            ("prompts/list", {}),
            ("resources/read", {"uri": "far+note:///logo"}),
            ("prompts/get", {"name": "up__greet", "arguments": {"name": "x"}}),
        ):
            raw[method] = await post(http, gateway, method, params)

    assert b'"vendorField":{"kept": [1, 2.5, null]}' in raw["resources/list"]
    assert b'"vendorField":1.5' in raw["resources/templates/list"]
    assert b'"arguments":[{"name": "name", "required": true, "vendorField": true}]' in raw["prompts/list"]
    assert b'"uri":"far+note:///logo","mimeType":"image/png","blob":"AAEC","vendorField":1.5}' in raw["resources/read"]
    assert b'"vendorField":{"exact": 1.5}' in raw["resources/read"]
    assert b'{"type": "text", "text": "Say hello to x.", "vendorField": 1.5}' in raw["prompts/get"]


@pytest.mark.parametrize("method", ["resources/list", "resources/templates/list", "prompts/list", "tools/list"])
async def test_modern_lists_say_that_they_are_for_this_caller_only(gateway: Running, method: str) -> None:
    async with httpx2.AsyncClient(timeout=30, verify=NO_TLS) as http:
        result = (await ask(http, gateway, method, {}))["result"]

    assert (result["resultType"], result["ttlMs"], result["cacheScope"]) == ("complete", 0, "private")
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "interlock"


async def test_a_resource_that_its_server_calls_public_is_private_here(gateway: Running) -> None:
    async with httpx2.AsyncClient(timeout=30, verify=NO_TLS) as http:
        result = (await ask(http, gateway, "resources/read", {"uri": "up+note:///readme"}))["result"]

    assert (result["resultType"], result["cacheScope"]) == ("complete", "private")


@pytest.mark.parametrize(("method", "params"), [("resources/list", {}), ("resources/read", {"uri": "up+note:///logo"})])
async def test_legacy_answers_have_nothing_of_the_modern_protocol(
    gateway: Running, method: str, params: dict[str, Any]
) -> None:
    answer = await ask_legacy(gateway, method, params)

    assert not {"resultType", "ttlMs", "cacheScope"} & answer["result"].keys()


async def test_nothing_of_the_client_but_the_params_reaches_a_server(
    gateway: Running, log: Path, remote: HttpUpstream
) -> None:
    meta = {"vendor/secret": "META-MARK", "progressToken": "TOKEN-MARK", "traceparent": "TRACE-MARK"}
    async with httpx2.AsyncClient(timeout=30, verify=NO_TLS) as http:
        for server in ("up", "far"):
            marked = {"_meta": meta, "_justification": "JUSTIFIED-MARK", "kept": "KEPT-MARK"}
            read = {"uri": f"{server}+note:///readme", **marked}
            await post(http, gateway, "resources/read", read, **{"x-mine": "HEADER-MARK"})
            await post(http, gateway, "prompts/get", {"name": f"{server}__greet", "arguments": {"name": "x"}, **marked})
    everything = b"".join(
        each.raw + repr(each.headers).encode() for file in (log, remote.log) for each in received(file)
    )

    assert everything.count(b"KEPT-MARK") == 4
    for mark in (b"META-MARK", b"TOKEN-MARK", b"TRACE-MARK", b"JUSTIFIED-MARK", b"HEADER-MARK", b"x-mine"):
        assert mark not in everything


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("resources/read", {}),
        ("resources/read", {"uri": 5}),
        ("prompts/get", {"name": None}),
        ("completion/complete", {}),
        ("completion/complete", {"ref": {"type": "ref/prompt"}}),
        ("completion/complete", {"ref": {"type": "ref/resource", "name": "x"}}),
        ("resources/list", {"cursor": 5}),
    ],
)
async def test_params_of_the_wrong_shape_are_a_protocol_error(
    tmp_path: Path, method: str, params: dict[str, Any]
) -> None:
    async with one(tmp_path) as running:
        answer = await ask_legacy(running, method, params)

    assert answer["error"]["code"] == -32602


# Pages ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("era", ERAS)
async def test_2500_resources_come_in_pages_and_none_is_missing(tmp_path: Path, era: str) -> None:
    pages: list[list[str]] = []
    async with one(tmp_path, many=2_500) as running, Client(running.url, mode=era) as client:
        cursor = None
        while cursor is not None or not pages:
            listed = await client.list_resources(cursor=cursor)
            pages.append([each.uri for each in listed.resources])
            cursor = listed.next_cursor

    assert [len(each) for each in pages] == [1_000, 1_000, 502]
    assert [uri for page in pages for uri in page][2:] == [f"up+many:///{number}" for number in range(2_500)]


async def test_a_cursor_of_another_list_or_of_an_older_one_is_refused(tmp_path: Path) -> None:
    async with (
        one(tmp_path, "posture: open\nexpose: both\n", many=1_500) as running,
        Client(running.url, mode="legacy", cache=None) as client,
    ):
        cursor = (await client.list_resources()).next_cursor
        assert cursor is not None
        with pytest.raises(MCPError) as foreign:
            await client.list_prompts(cursor=cursor)
        await client.call_tool("up__add", {"uri": "late:///one"})
        while len(running.gateway.pipeline.offers.by_server["up"].of(Kind.RESOURCES)) < 1_503:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        with pytest.raises(MCPError) as stale:
            await client.list_resources(cursor=cursor)

    assert foreign.value.error.code == stale.value.error.code == -32602


# A server of somebody else --------------------------------------------------------------------------------------


@pytest.mark.parametrize("transport", ["stdio", "http"])
@pytest.mark.parametrize("era", ERAS)
async def test_the_everything_server_is_listed_read_got_and_completed(
    tmp_path: Path, log: Path, era: str, transport: str
) -> None:
    if transport == "stdio":
        async with serving(tmp_path, "servers:\n" + server_yaml("all", everything_argv(log))) as running:
            await use_everything(running, log, era)
    else:
        with everything_over_http(log) as url:
            async with serving(tmp_path, f"servers:\n  all: {{url: '{url}'}}\n") as running:
                await use_everything(running, log, era)


async def use_everything(running: Running, log: Path, era: str) -> None:
    async with Client(running.url, mode=era) as client:
        resources = (await client.list_resources()).resources
        templates = (await client.list_resource_templates()).resource_templates
        prompts = [each.name for each in (await client.list_prompts()).prompts]
        read = await client.read_resource(resources[0].uri)
        by_template = await client.read_resource("all+demo://resource/dynamic/text/1")
        prompt = await client.get_prompt("all__args-prompt", {"city": "Lund"})
        completed = await client.complete(
            types.PromptReference(name="all__completable-prompt"), {"name": "department", "value": "E"}
        )
    used = [each for each in messages(log) if each.get("method") in METHODS]

    assert all(each.uri.startswith("all+") for each in resources)
    assert any("dynamic/text" in each.uri_template for each in templates)
    assert "all__args-prompt" in prompts
    assert read.contents[0].uri == resources[0].uri
    assert by_template.contents[0].uri == "all+demo://resource/dynamic/text/1"
    assert "Lund" in getattr(prompt.messages[0].content, "text", "")
    assert completed.completion.values == ["Engineering"]
    assert [(each["method"], {k: v for k, v in each["params"].items() if k != "_meta"}) for each in used] == (
        await recorded(running)
    )
