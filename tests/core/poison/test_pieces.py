"""The pieces of sentences: the same for the same words, whoever's address or name stands between them."""

from hypothesis import given
from hypothesis import strategies as st

from interlock.core.poison.pieces import KINDS, ROOM, Pieces, pieces_of, together, words_in

NOTHING = frozenset[str]()


def pieces(
    sentence: str, *, parameter: bool = False, own: frozenset[str] = NOTHING, atoms: tuple[str, ...] = ()
) -> Pieces:
    return pieces_of(sentence, parameter=parameter, own=own, atoms=atoms)


def test_it_does_not_matter_whose_address_path_or_number_it_is() -> None:
    one = pieces("send 12 files of /etc/a to https://one.example/x and to ann@one.example")

    assert one == pieces("send 7.5 files of ~/.ssh/b to http://other.test and to bob@other.test")


def test_the_names_of_a_tool_are_told_from_those_of_others() -> None:
    assert words_in("call send_mail with to_address", frozenset({"to_address"})) == [
        *("call", "OTHER", "send", "mail", "with", "OWN")
    ]


def test_words_of_one_meaning_have_a_piece_in_common_that_other_words_have_not() -> None:
    password, passphrase, weather = (set(pieces(each)["meanings"]) for each in ("password", "passphrase", "weather"))

    assert password & passphrase
    assert not password & weather


def test_the_same_words_in_a_parameter_are_another_piece() -> None:
    assert pieces("read it")["words"] == pieces("read it", parameter=True)["words"]
    assert pieces("read it")["placed"] != pieces("read it", parameter=True)["placed"]


def test_scripts_without_spaces_have_pieces_of_their_own() -> None:
    assert pieces("plain words")["signs"] == []
    assert set(pieces("读取文件")["signs"]) & set(pieces("请读取它")["signs"])


def test_atoms_count_alone_and_in_pairs() -> None:
    assert len(pieces("x", atoms=("move", "secret", "theirs"))["atoms"]) == 6


def test_sentences_together_have_the_pieces_of_each() -> None:
    one, other = pieces("send it"), pieces("keep it")

    assert together([one, other]) == {kind: [*one[kind], *other[kind]] for kind in KINDS}


@given(st.text(max_size=300))
def test_any_text_has_pieces_and_none_is_beyond_the_table(text: str) -> None:
    found = pieces(text)

    assert set(found) == set(KINDS)
    assert all(0 <= piece < ROOM for each in found.values() for piece in each)


def test_of_an_endless_sentence_only_the_beginning_is_read() -> None:
    assert len(pieces("go " * 100_000)["letters"]) < 10_000
