"""Where a caller is: the token says, then the operator's word about the folder, then the default."""

import os
from pathlib import PurePosixPath

import pytest

from interlock.receive.identify import OPERATOR, Callers, Principal, mint
from interlock.receive.workspaces import FOLDER_HEADER, OPERATOR_HEADER, Workspaces, folder_headers
from tests.fakes import FakeClock

PLACES = Workspaces(
    "rest",
    {PurePosixPath("/srv"): "srv", PurePosixPath("/srv/prod"): "prod", PurePosixPath("/srv/prod/café x"): "café"},
)


@pytest.fixture
def operator() -> tuple[Callers, str]:
    """Callers who know the operator, and the operator's credential."""
    token, text = mint(OPERATOR, "human", ("admin", "approver"), 0, None)
    agent, _ = mint("somebody", "human", ("admin",), 0, None)
    callers = Callers(FakeClock(), allow_local=True)
    callers.replace([token, agent])
    return callers, text


def agent(workspace: str | None = None) -> Principal:
    return Principal("local", "agent", frozenset({"agent"}), workspace)


@pytest.mark.parametrize(
    ("folder", "workspace"),
    [
        ("/srv", "srv"),
        ("/srv/other/deep", "srv"),
        ("/srv/prod", "prod"),
        ("/srv/prod/x", "prod"),
        ("/srv/prod/café x/y", "café"),
        ("/srv/production", "srv"),
        ("/srvx", "rest"),
        ("/", "rest"),
        ("", "rest"),
    ],
)
def test_the_innermost_folder_that_holds_the_working_directory_counts(
    operator: tuple[Callers, str], folder: str, workspace: str
) -> None:
    callers, credential = operator

    placed = PLACES.place(agent(), folder_headers(folder, credential), callers)

    assert placed.workspace == workspace


def test_a_folder_whose_name_is_no_text_is_in_its_workspace_too(operator: tuple[Callers, str]) -> None:
    callers, credential = operator
    folder = os.fsdecode(b"/srv/prod/\xff")

    assert PLACES.place(agent(), folder_headers(folder, credential), callers).workspace == "prod"


def test_the_token_comes_first(operator: tuple[Callers, str]) -> None:
    callers, credential = operator

    assert PLACES.place(agent("mine"), folder_headers("/srv", credential), callers).workspace == "mine"


@pytest.mark.parametrize("proof", ["", "il_x_y", "nonsense"])
def test_nobody_but_the_operator_is_believed_about_folders(operator: tuple[Callers, str], proof: str) -> None:
    callers, _ = operator

    assert PLACES.place(agent(), folder_headers("/srv/prod", proof), callers).workspace == "rest"


def test_another_admin_is_not_the_operator(operator: tuple[Callers, str]) -> None:
    callers, _ = operator
    token, text = mint("somebody", "human", ("admin",), 0, None)
    callers.replace([token])

    assert PLACES.place(agent(), folder_headers("/srv/prod", text), callers).workspace == "rest"


def test_without_the_headers_it_is_the_default(operator: tuple[Callers, str]) -> None:
    callers, credential = operator

    assert PLACES.place(agent(), {}, callers).workspace == "rest"
    assert PLACES.place(agent(), {FOLDER_HEADER: "/srv/prod"}, callers).workspace == "rest"
    assert PLACES.place(agent(), {OPERATOR_HEADER: credential}, callers).workspace == "rest"
    assert Workspaces().place(agent(), {}, callers).workspace is None
