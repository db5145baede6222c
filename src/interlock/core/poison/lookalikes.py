"""Names that look alike: the letters of other alphabets that are drawn like ours, and what a name looks like.

A person approves `read_file` by its looks; a program calls it by its letters. The table is ours and holds the letters
that are hard to tell apart in a common font. It is no complete list, so that two names look different here proves
nothing.
"""

from unicodedata import category, normalize

_DRAWN_LIKE = {
    "-": "\u2010\u2011\u2012\u2013\u2014\u2212\ufe63", ".": "\u2024", "/": "\u2215\u2044", ":": "\u2236\u02d0\ua789",
    "A": "\u0410\u0391", "B": "\u0412\u0392", "C": "\u0421", "D": "\u0500", "E": "\u0415\u0395", "H": "\u041d\u0397",
    "I": "\u0406\u04c0\u0399", "J": "\u0408", "K": "\u041a\u039a", "L": "\u029f", "M": "\u041c\u039c", "N": "\u039d",
    "O": "\u041e\u039f", "P": "\u0420\u03a1", "Q": "\u051a", "S": "\u0405", "T": "\u0422\u03a4", "W": "\u051c",
    "X": "\u0425\u03a7", "Y": "\u0423\u04ae\u03a5", "Z": "\u0396", "_": "\u02cd\u203f", "a": "\u0430\u0251\u03b1",
    "c": "\u0441\u03f2", "d": "\u0501", "e": "\u0435\u04bd", "g": "\u0261\u0581", "h": "\u04bb\u0570",
    "i": "\u0456\u0131\u03b9", "j": "\u0458\u03f3", "k": "\u03ba", "l": "\u04cf", "n": "\u0578",
    "o": "\u043e\u03bf\u03c3\u0585", "p": "\u0440\u03c1", "q": "\u051b\u0566", "s": "\u0455", "t": "\u03c4",
    "u": "\u03c5\u057d", "v": "\u0475\u03bd", "w": "\u051d", "x": "\u0445\u03c7", "y": "\u0443\u03b3",
}  # fmt: skip
"""What is drawn like an ASCII character: letters of Cyrillic, Greek and Armenian, dashes and dots."""
_LATIN = {other: ours for ours, others in _DRAWN_LIKE.items() for other in others}
_ALIKE = str.maketrans({"0": "o", "O": "o", "1": "l", "I": "l", "|": "l"})
"""Within ASCII."""


def in_latin(name: str) -> str:
    """A name with the letters that it seems to have: those of other alphabets and of other widths replaced."""
    return "".join(_LATIN.get(char, normalize("NFKC", char)) for char in name)


def imitates(name: str) -> bool:
    """Whether a name is made to look like one in plain letters."""
    return not name.isascii() and in_latin(name).isascii()


def looks_of(name: str) -> str:
    """What a name looks like: two names with the same looks are hard to tell apart."""
    drawn = "".join(char for char in normalize("NFKD", in_latin(name)) if category(char) not in ("Mn", "Cf", "Cc"))
    return drawn.translate(_ALIKE)
