r"""What stands before a secret in the languages and commands that have a way of their own to write one down.

A phrase is a pattern for RE2 that ends where the secret begins. Each is anchored on words that nobody writes in
passing: `mysql … -p` and not `-p`, `curl … -u` and not `-u`.

This module refuses to search: it is a table, and `secret_signs` is what looks.
"""

_BLANK = r"(?:(?:\s|\\+[nrt])+)"
"""Also as JSON writes it."""
_BEGINS = r"(?:\b|\\[bfnrt])"
_REST = r"(?:[^\r\n|;]*?\s)??"
"""What else may stand in a command, and no more of it than has to: there may be two commands in a line."""

BEFORE_QUOTES: tuple[str, ...] = (
    rf"(?i:{_BEGINS}identified{_BLANK}(?:with{_BLANK}\S+{_BLANK})?by{_BLANK}(?:password{_BLANK})?)",
    rf"(?i:{_BEGINS}(?:with|encrypted){_BLANK}password{_BLANK})",
    rf"{_BEGINS}PASSWORD(?:{_BLANK}|\s*\(\s*)",
)
"""A secret follows only if there are quotes: people are identified by their voice, and doors open with password or
key."""

BEFORE_WORDS: tuple[str, ...] = (
    rf"(?i:{_BEGINS}(?:create|alter){_BLANK}user{_BLANK}\S+{_BLANK}identified{_BLANK}by{_BLANK})",
    rf"(?i:{_BEGINS}(?:machine{_BLANK}\S+|default){_BLANK}login{_BLANK}\S+{_BLANK}password{_BLANK})",
    rf"{_BEGINS}curl{_BLANK}{_REST}(?:-[uU]{_BLANK}?|--(?:proxy-)?user(?:{_BLANK}|=))\\*[\"']?[^\s:\"'\\/]+:",
    rf"{_BEGINS}(?:mysql|mariadb)[a-z-]*{_BLANK}{_REST}-p",
    rf"{_BEGINS}sshpass{_BLANK}-p{_BLANK}?",
)
"""A secret follows, in quotes or as a word."""

PHRASE_HINTS = "identified|curl|mysql|mariadb"
"""In every phrase there is one of these, or a word that stands in names of secrets."""
