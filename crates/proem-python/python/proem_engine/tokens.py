"""How many tokens a model makes of a text."""

from __future__ import annotations

from dataclasses import dataclass

from . import _native
from ._untrusted import Untrusted, text_of

__all__ = ["TokenCount", "count"]


@dataclass(frozen=True)
class TokenCount:
    """A number of tokens."""

    tokens: int
    """The number."""
    exact: bool
    """Whether the model's own tokeniser counted. Otherwise it is an estimate from another one's count."""


def count(text: str | Untrusted[str], model: str = "small") -> TokenCount:
    """Counts the tokens of a text as a model cuts it: a listed model, a role such as `small`, or any other name."""
    return TokenCount(*_native.count_tokens(model, text_of(text, "the text")))
