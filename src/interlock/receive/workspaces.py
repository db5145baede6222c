"""In which workspace a caller is: by its token, by the folder its process was started in, or by default.

The agent never chooses. The folder is told by `interlock stdio`, which proves with the operator's credential that it is
a process of the operator; what anybody else says about folders is not heard.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from urllib.parse import quote, unquote_to_bytes

from msgspec import structs

from interlock.core.model import Caller
from interlock.errors import Reason
from interlock.receive.identify import OPERATOR, Callers, Principal

FOLDER_HEADER = "interlock-folder"
OPERATOR_HEADER = "interlock-operator"


def folder_headers(folder: str, credential: str) -> dict[str, str]:
    """What `interlock stdio` adds to its requests."""
    return {FOLDER_HEADER: quote(os.fsencode(folder)), OPERATOR_HEADER: credential}


@dataclass(frozen=True, slots=True)
class Workspaces:
    """All workspaces, those that have a folder by it, and the one for everybody else."""

    default: str | None = None
    by_folder: Mapping[PurePosixPath, str] = field(default_factory=dict[PurePosixPath, str])
    names: frozenset[str] = frozenset()

    def of_folder(self, folder: str) -> str | None:
        """The workspace whose folder holds this one; of several the innermost."""
        path = PurePosixPath(folder)
        return next((self.by_folder[each] for each in (path, *path.parents) if each in self.by_folder), None)

    def place(self, principal: Principal, headers: Mapping[str, str], callers: Callers) -> Principal:
        """The principal in its workspace."""
        if principal.workspace is not None:
            return principal
        folder = headers.get(FOLDER_HEADER)
        if folder is not None and self._is_operators(headers, callers):
            return self._in_folder(principal, os.fsdecode(unquote_to_bytes(folder)))
        return principal if self.default is None else replace(principal, workspace=self.default)

    def again(self, caller: Caller, callers: Callers) -> Caller | Reason:
        """Who a caller is by now, and where; a reason when it is nobody any more."""
        principal = callers.again(caller)
        if isinstance(principal, Reason):
            return principal
        if principal.workspace is None:
            where = self.default if caller.folder is None else self.of_folder(caller.folder) or self.default
            principal = replace(principal, workspace=where, folder=caller.folder)
        if principal.name != caller.name:  # the call of a person is one of the operator's agent
            return structs.replace(caller, workspace=principal.workspace, scope=principal.scope)
        # An admin may try tools without being an agent.
        may_call = not principal.roles.isdisjoint(("agent", "admin")) and caller.may_call
        return structs.replace(principal.as_caller(), may_call=may_call)

    def _in_folder(self, principal: Principal, folder: str) -> Principal:
        return replace(principal, workspace=self.of_folder(folder) or self.default, folder=folder)

    def _is_operators(self, headers: Mapping[str, str], callers: Callers) -> bool:
        proof = callers.identify(f"Bearer {headers.get(OPERATOR_HEADER, '')}")
        return isinstance(proof, Principal) and proof.name == OPERATOR
