"""Where the secrets go that stood in the files of clients: into files that only their owner can read, or nowhere.

`${file:…}` works at once; `${env:…}` leaves it to a person to set a variable, who is told its name and never its value.
Nothing is written until the references are decided on, and no file that is there is written over.
"""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any, Literal, cast

from interlock.cli.clients.adopt import Adopted, Secret
from interlock.cli.clients.file import read_bytes
from interlock.cli.clients.rewrite import private_file

FOLDER = "secrets"
Where = Literal["file", "env"]


@dataclass(slots=True)
class Safekeeping:
    """References for secrets, and what has to be done for them to lead somewhere."""

    folder: Path
    where: Where
    files: dict[Path, str] = field(default_factory=dict[Path, str], repr=False)
    variables: dict[str, str] = field(default_factory=dict[str, str], repr=False)

    def referring(self, adopted: Adopted) -> dict[str, Any]:
        """The definition of a server with a reference in the place of each secret."""
        definition: dict[str, Any] = dict(adopted.definition)
        for secret in adopted.secrets:
            reference = self._file(adopted.id, secret) if self.where == "file" else self._variable(adopted.id, secret)
            section = cast("Mapping[str, Any]", definition[secret.section])
            definition[secret.section] = {**section, secret.name: secret.scheme + reference}
        return definition

    def keep(self) -> None:
        """Write the files."""
        for path, value in self.files.items():
            if read_bytes(path) is None:
                private_file(path, value.encode("utf-8"))

    def exports(self) -> Iterator[str]:
        """The lines that set the variables, without their values."""
        for name in self.variables:
            yield f"export {name}={shlex.quote('…')}"

    def _file(self, server: str, secret: Secret) -> str:
        name = re.sub(r"[^A-Za-z0-9_-]", "_", secret.name)
        places = (self.folder.absolute() / FOLDER / each for each in _numbered(f"{server}.{name}", "-"))
        path = next(each for each in places if self._is_free(each, secret.value))
        self.files[path] = secret.value
        return f"${{file:{path}}}"

    def _is_free(self, path: Path, value: str) -> bool:
        """Whether nothing else is kept, or is about to be, in a file."""
        there = read_bytes(path)
        return self.files.get(path, value) == value and there in (None, value.encode("utf-8"))

    def _variable(self, server: str, secret: Secret) -> str:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", secret.variable)
        longer = re.sub(r"[^A-Z0-9]+", "_", f"{server}_{plain}".upper())
        names = chain((plain,), _numbered(longer, "_"))
        name = next(each for each in names if self.variables.get(each, secret.value) == secret.value)
        self.variables[name] = secret.value
        return f"${{env:{name}}}"


def _numbered(name: str, mark: str) -> Iterator[str]:
    """The name, and then the name with numbers, without end."""
    return chain((name,), (f"{name}{mark}{number}" for number in count(2)))
