from typing import Any, TypedDict

class FindingFields(TypedDict):
    rule: str
    severity: str
    start: int
    end: int

class ReportFields(TypedDict):
    verdict: str
    score: float
    findings: list[FindingFields]
    unread: list[str]

class ContainmentFields(TypedDict):
    text: str
    withheld: bool
    report: ReportFields

class RenderedFields(TypedDict):
    text: str
    messages: list[tuple[str, str]]
    tokens: int
    shortened: list[str]
    cache: str
    notes: list[str]
    report: dict[str, Any]

class RenderChoices(TypedDict):
    model: str | None
    max_tokens: int | None
    key: bytes | None
    untrusted: bool

class UsageFields(TypedDict):
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int

class Guard:
    def __init__(self, key: bytes | None) -> None: ...
    def scan(self, text: str) -> ReportFields: ...
    def contain(self, text: str) -> ContainmentFields: ...

class Prompt:
    trusted_inputs: list[str]
    @staticmethod
    def parse(text: str) -> Prompt: ...
    def render(self, inputs: dict[str, Any], choices: RenderChoices) -> RenderedFields: ...

class Toolbox:
    def __init__(self, lines: str) -> None: ...
    def rank(self, task: str) -> list[tuple[str, float, bool]]: ...

class Booking:
    is_open: bool
    def settle(self, usage: UsageFields | None) -> None: ...
    def release(self) -> None: ...

class Budget:
    spent: tuple[int | None, float | None, int]
    def __init__(self, tokens: int | None, dollars: float | None) -> None: ...
    def book(self, model: str, input_tokens: int, output_tokens: int) -> Booking: ...

def prompt_token_bound(prompt: Any) -> int: ...
def count_tokens(model: str, text: str) -> tuple[int, bool]: ...
def decode_answer(text: str, schema: dict[str, Any]) -> tuple[Any, list[str]]: ...
