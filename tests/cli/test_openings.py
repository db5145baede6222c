"""What a process opens to be spoken with."""

import contextlib
import socket

import pytest

from interlock.cli.openings import bind
from interlock.errors import InterlockError


def test_a_socket_sends_small_answers_at_once() -> None:
    with contextlib.closing(bind("127.0.0.1", 0)) as listener:
        assert listener.proto == socket.IPPROTO_TCP


def test_an_address_that_is_taken_says_which_option_to_change() -> None:
    with contextlib.closing(bind("127.0.0.1", 0)) as taken:
        taken.listen()
        with pytest.raises(InterlockError) as refused:
            bind("127.0.0.1", taken.getsockname()[1], option="--http")

    assert refused.value.reason.fix == "Choose another with --http."
