"""The part of ruamel.yaml that Interlock uses; the package's own types are incomplete."""

from ruamel.yaml.nodes import Node

class YAML:
    preserve_quotes: bool
    width: int
    def __init__(self, *, typ: str = ..., pure: bool = ...) -> None: ...
    def compose(self, stream: str) -> Node | None: ...
