"""Shell commands that nobody describes a tool with: fetch and run, open the machine to others, destroy it.

A tool that runs commands shows some, so in a tool that says so by its name only the worst count. A sentence that says
that such commands are refused, or gives them as examples, is told as a soft sign.
"""

import re2

from interlock.core.words import word_set

_SHELLS = r"(?:sudo\s+)?(?:-\w+\s+)*(?:/bin/|/usr/bin/)?(?:ba|z|da|k|fi)?sh\b|python3?\b|perl\b|node\b|ruby\b|iex\b"
_FETCHES = (
    r"(?:curl|wget)\b[^|\n]{1,300}\|\s*(?:" + _SHELLS + r")",
    r"\$\(\s*(?:curl|wget)\b|`\s*(?:curl|wget)\b[^`\n]*\|\s*\w*sh\b",
    r"\b(?:curl|wget|irm|iwr)\b[^\n]{1,300}(?:&&|;)\s*(?:chmod \+x|sh |bash |\./|/tmp/|python)",
    r"\bbase64\s+(?:-d|--decode|-D)\b[^\n]{0,80}\|\s*\w*sh\b",
    r"\biex\s*\(|\binvoke-expression\b|\bdownloadstring\(",
    r"\bpowershell\b[^\n]{0,80}\s-(?:e|en|enc|encodedcommand|nop|w hidden)\b",
    r"\brm\s+-(?:rf|fr|r -f)\s+(?:--no-preserve-root\s+)?(?:/|~|\$home|\*)(?:\s|$|\*|;|\)|'|\"|`)",
    r"\bmkfs\.\w+ /dev/|\bdd if=\S+ of=/dev/(?:sd|nvme|hd)|:\(\)\s*\{\s*:\|:",
    r">>\s*~?/?\S*(?:\.bashrc|\.zshrc|\.profile|authorized_keys|crontab)\b",
    r"\bauthorized_keys\b[^\n]{0,60}\becho\b|\becho\b[^\n]{0,200}authorized_keys\b",
    r"\beval\((?:fetch|atob|await|require|import)|\b(?:append|add|insert)\b[^\n]{0,40};\s*(?:drop|delete|truncate)\b",
    r"\b(?:env|printenv) *\| *\w+",
    r"\bos\.system\(|\bsubprocess\.(?:run|call|popen)\(|\bchild_process\b",
)
_OPENS = (
    r"/dev/tcp/\S+",
    r"\b(?:nc|ncat|netcat)\s+(?:-\w+\s+)*(?:-e|-c)\s*\S+",
    r"\|\s*(?:nc|ncat|netcat)\s+\S+\s+\d+",
    r"\bbash -i\b[^\n]{0,20}>&",
    r"\b(?:cat|tar|zip)\b[^\n|]{0,200}\|\s*(?:curl|wget|nc|openssl)\b",
    r"\bcurl\b[^\n]{0,200}(?:-d|--data\S*|-f|-t|--upload-file)\s+@?\S*(?:\.ssh|\.env|/etc/|\.aws|id_rsa)",
)
_RUNS_COMMANDS = word_set("shell command commands cmd exec execute run terminal script bash powershell ssh user code")


_QUICK = re2.Options()
_QUICK.never_capture = True


def _any_of(patterns: tuple[str, ...]) -> str:
    return "|".join(f"(?:{each})" for each in patterns)


_FETCH, _OPEN = re2.compile(_any_of(_FETCHES), _QUICK), re2.compile(_any_of(_OPENS), _QUICK)


def commands(fold: str) -> tuple[str, bool] | None:
    """The line with the worst command of a folded text, and whether it is of the worst kind; None without any."""
    content = fold.encode("utf-8", "replace")
    for pattern, worst in ((_OPEN, True), (_FETCH, False)):
        for match in pattern.finditer(content):
            begin = content.rfind(b"\n", 0, match.start()) + 1
            return content[begin : match.end() + 40].decode("utf-8", "replace"), worst
    return None


def runs_commands(words: frozenset[str]) -> bool:
    """Whether a tool says by its name that it runs commands."""
    return bool(words & _RUNS_COMMANDS)
