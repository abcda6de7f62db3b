"""What can go wrong: one class for each kind, with every problem, its place and its remedy."""

from __future__ import annotations

from collections.abc import Iterable


class ProemError(Exception):
    """A failure. `problems` lists everything that is wrong, each with its place and what to do about it."""

    def __init__(self, problems: str | Iterable[str]) -> None:
        self.problems: list[str] = [problems] if isinstance(problems, str) else list(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        return "\n".join(self.problems)


class InvalidError(ProemError):
    """The caller gave something wrong: a prompt, an input, a schema."""


class NegativeError(ProemError):
    """The answer is negative: a text has no value that meets the schema, or a budget has no room."""


class OutsideError(ProemError):
    """Something outside failed."""


class BudgetExceeded(NegativeError):
    """A call could exceed a budget, so it must not be made."""
