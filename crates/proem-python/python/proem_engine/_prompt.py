"""Prompts, and what they render to."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from . import _native
from ._checks import secret, whole_number
from ._errors import InvalidError
from ._untrusted import own_text
from ._values import plain_inputs


@dataclass(frozen=True)
class Rendered:
    """A rendered prompt with its account."""

    text: str
    """All of it, in the order in which a model reads it."""
    messages: list[tuple[str, str]]
    """Its messages as pairs of role and text."""
    tokens: int
    """The number of tokens of all messages, by the model's tokeniser."""
    shortened: list[str]
    """The sections that were shortened or left out, each with the reason."""
    cache: str
    """The forecast of the provider's cache, as a sentence."""
    notes: list[str]
    """The guard's effect on texts from outside that did not go in unchanged, a sentence each."""
    report: dict[str, Any]
    """The account of every token, by section."""


class Prompt:
    """A prompt: its template, its sections with their trust, its inputs, and what its answer must be."""

    def __init__(self, native: _native.Prompt) -> None:
        """Takes what `parse` has read."""
        self._native = native
        self._trusted = frozenset(native.trusted_inputs)

    @classmethod
    def parse(cls, text: str) -> Prompt:
        """Reads a prompt from the text of a file, which gives orders: nothing from outside belongs in it.

        Raises `InvalidError` with everything that is wrong, by line.
        """
        return cls(_native.Prompt.parse(own_text(text, "the prompt")))

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Prompt:
        """Reads a prompt file."""
        return cls.parse(Path(path).read_text(encoding="utf-8"))

    @property
    def trusted_inputs(self) -> frozenset[str]:
        """The inputs that the prompt declares trusted. Texts of all others are contained."""
        return self._trusted

    def render(self, **inputs: Any) -> Rendered:
        """Renders the prompt with its inputs by name."""
        return self.render_with(inputs)

    def render_with(
        self,
        inputs: Any,
        *,
        model: str | None = None,
        max_tokens: int | None = None,
        key: bytes | None = None,
        untrusted: bool = False,
    ) -> Rendered:
        """Renders the prompt with a mapping, a pydantic model or a dataclass of inputs.

        `model` names the model whose tokens are counted, `max_tokens` the budget into which sections shrink. `key` is a
        secret of 32 random bytes: processes that share it write the same delimiters. With `untrusted`, no input is
        trusted, whatever the prompt declares. An `Untrusted` value or a `Decoded` answer is refused where the prompt
        declares the input trusted.
        """
        plain, outside = plain_inputs(inputs)
        wrong = sorted(outside & self._trusted)
        if wrong and not untrusted:
            raise InvalidError(
                f"input `{name}` is declared trusted, and its value is from outside; declare it untrusted, or give a "
                "text that you vouch for"
                for name in wrong
            )
        choices: _native.RenderChoices = {
            "model": model,
            "max_tokens": None if max_tokens is None else whole_number(max_tokens, "`max_tokens`"),
            "key": secret(key),
            "untrusted": untrusted,
        }
        return Rendered(**self._native.render(plain, choices))
