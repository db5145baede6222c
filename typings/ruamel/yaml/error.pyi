from ruamel.yaml.nodes import Mark

class YAMLError(Exception): ...

class MarkedYAMLError(YAMLError):
    problem: str | None
    problem_mark: Mark | None
    context_mark: Mark | None
