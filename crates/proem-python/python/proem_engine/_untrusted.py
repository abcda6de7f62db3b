"""Values from outside, which keep their label."""

from __future__ import annotations

from typing import Generic, NoReturn, TypeVar

from ._checks import check_text
from ._errors import InvalidError

Value = TypeVar("Value")


class Untrusted(Generic[Value]):
    """A value from outside: a mail, a page, a tool's result, a model's answer.

    It goes into a prompt as an input that is contained, never as one that the prompt declares trusted. It is no text:
    formatting it is an error, so that it gets into no prompt by accident.
    """

    __slots__ = ("value",)

    value: Value
    """The value itself. Whoever reads it keeps track of its origin from there on."""

    def __init__(self, value: Value) -> None:
        """Takes the value."""
        self.value = value

    def __str__(self) -> NoReturn:
        raise InvalidError("this value is from outside; contain it with `Guard().contain(…).text`, or read its `value`")

    def __format__(self, specification: str) -> NoReturn:
        self.__str__()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(<{type(self.value).__name__}>)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Untrusted) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)


def text_of(value: str | Untrusted[str], what: str) -> str:
    """The text of an argument that may be from outside."""
    text = value.value if isinstance(value, Untrusted) else value
    check_text(text, what)
    return text


def own_text(value: str, what: str) -> str:
    """The text of an argument that the caller has to vouch for."""
    if isinstance(value, Untrusted):
        raise InvalidError(f"{what} is from outside; give a text that you vouch for")
    check_text(value, what)
    return value
