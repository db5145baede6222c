class Mark:
    line: int
    column: int

class Node:
    tag: str
    start_mark: Mark

class ScalarNode(Node):
    value: str

class SequenceNode(Node):
    value: list[Node]

class MappingNode(Node):
    value: list[tuple[Node, Node]]
