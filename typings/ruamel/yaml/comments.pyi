from typing import Any

class CommentedMap(dict[str, Any]):
    def insert(self, pos: int, key: str, value: Any) -> None: ...
