"""Marks in a text: those that imitate the model's own, those that hide what they enclose, those that send things away.

Some stand in no honest description (the tokens of chat templates); others do in tools for web pages and prompts, and
are only soft until what they enclose gives an order.
"""

import re

from interlock.core.poison import signs
from interlock.core.poison.prose import said, spoken
from interlock.core.poison.rules import ORDERS
from interlock.core.poison.setting import PLAIN, Setting
from interlock.core.poison.signs import Sign, sign
from interlock.core.words import word_set

_TOKENS = re.compile(
    r"<\|\s*(?:im_start|im_end|system|user|assistant|end|endoftext|eot_id|start_header_id|end_header_id"
    r"|endofprompt)\s*\|>"
    r"|\[/?inst\]|<<\s*/?sys\s*>>|</(?:tool_description|tool|function|description|tools|tool_result|function_results)>"
    r"|\b(?:begin|end|start)(?: of)? (?:system|tool|admin|developer|hidden)[ _](?:message|prompt|description"
    r"|instructions)\b"
    r"|<(?:start|end)_of_turn>|(?:^|\n)\s*###\s*(?:instruction|response|system|human|assistant):",
    re.IGNORECASE,
)
_ROLES = re.compile(
    r"</?(?:system|assistant|system[-_ ]?(?:prompt|message|instructions?|override|reminder|note)|assistant[-_ ]\w+"
    r"|hidden|secret|admin|developer)\b[^>\n]{0,80}>"
    r"|\[/?(?:system|assistant|admin|developer|hidden|important|critical|urgent)(?:[ _](?:message|prompt|override"
    r"|note|instructions?))?\]"
    r"|\"role\"\s*:\s*\"(?:system|assistant|developer)\"|(?:^|\n)\s*#{1,6}\s*(?:system|assistant|new instructions"
    r"|override)\b"
    r"|(?:^|\n|\. )\s*(?:system|assistant|developer|admin|human)(?: (?:message|prompt|note|override|notice))?\s*:"
    r"|\bsystem (?:notice|alert|update|announcement)\b"
    r"|\*\*\s*system[^*\n]{0,40}\*\*|(?:={3,}|-{3,})\s*system\b",
    re.IGNORECASE,
)
_SPEAKS_OF_PROMPTS = word_set(
    "prompt prompts template templates chat llm completion tokenizer tokenize token tokens message messages model"
    " render role roles"
)
_COMMENTS = re.compile(r"<!--(.{1,4000}?)(?:-->|\Z)|\[//\]:\s*#\s*[(\"'](.{1,2000}?)[)\"']", re.DOTALL)
_UNSEEN = re.compile(
    r"<\w+[^>]{0,300}\bstyle\s*=[^>]{0,300}(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0"
    r"|opacity\s*:\s*0(?:[;\"'\s.]|$)|color\s*:\s*(?:white|#fff|transparent)"
    r"|(?:left|top|text-indent)\s*:\s*-\d{3,})|<\w+[^>]{0,200}\s(?:hidden|aria-hidden=\"true\")[\s>]",
    re.IGNORECASE,
)
_BEACONS = re.compile(
    r"(?:!\[[^\]\n]{0,200}\]\(|<img[^>]{0,200}src\s*=\s*[\"']?)\s*https?://[^)\s>]{0,300}(?:\{|\$\{|%s|conversation"
    r"|secret|history|password|context|api_?key|prompt)",
    re.IGNORECASE,
)
_ACTIVE = re.compile(
    r"<script\b[^>]{0,200}(?:src\s*=|>.{0,500}?(?:fetch|cookie|localstorage|xmlhttp|import|eval|location))"
    r"|data:text/html\b|javascript:\s*\S{0,80}\("
    r"|\bon(?:error|load|click|mouseover)\s*=\s*[\"']?\s*\w{0,40}(?:fetch|eval|location|document|window)",
    re.IGNORECASE | re.DOTALL,
)
_SCRIPT = re.compile(r"<script\b|<iframe\b|<object\b|<embed\b", re.IGNORECASE)
_PADDING = re.compile(r"(?:[ \t]{0,20}\r?\n){20}\s*\S|[ \t\u00a0\u2000-\u200a\u3000]{200}\s*\S")
_QUOTES = "\"'`\u201c\u201e\u00ab"


def marks(text: str, where: str, setting: Setting = PLAIN) -> list[Sign]:
    """The signs in the marks of a text."""
    found = _roles(text, where, setting)
    for pattern, hard in ((_UNSEEN, True), (_BEACONS, True), (_ACTIVE, True), (_SCRIPT, False), (_PADDING, False)):
        match = pattern.search(text)
        if match is not None:
            grave = hard and not _is_quoted(text, match)
            found.append(sign(signs.MARKUP, where, text[match.start() : match.start() + 160], hard=grave))
    found += [_comment(each[1] or each[2] or "", where, setting) for each in _COMMENTS.finditer(text)]
    return found


def _comment(content: str, where: str, setting: Setting) -> Sign:
    hard = any(each.hard for each in said(content, where, setting)) or bool(spoken(content, setting) & ORDERS)
    return sign(signs.MARKUP, where, content, hard=hard)


def _roles(text: str, where: str, setting: Setting) -> list[Sign]:
    token, role = _TOKENS.search(text), _ROLES.search(text)
    if token is not None:
        hard = not (setting.words & _SPEAKS_OF_PROMPTS or _is_quoted(text, token))
        return [sign(signs.ROLE_TAGS, where, text[max(token.start() - 40, 0) : token.end() + 80], hard=hard)]
    if role is None:
        return []
    after = text[role.start() :]
    hard = not _is_quoted(text, role) and bool(spoken(after, setting) & ORDERS)
    return [sign(signs.ROLE_TAGS, where, after, hard=hard)]


def _is_quoted(text: str, match: re.Match[str]) -> bool:
    before = text[max(match.start() - 2, 0) : match.start()]
    return any(char in _QUOTES for char in before)
