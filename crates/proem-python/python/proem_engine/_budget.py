"""Caps on what the calls of a process take."""

from __future__ import annotations

from types import TracebackType
from typing import Any

from . import _native
from ._checks import whole_number
from ._errors import InvalidError
from ._values import plain_value


class Booking:
    """What one call has booked.

    As a context manager it settles itself: a call that was not settled inside takes what was booked.
    """

    def __init__(self, native: _native.Booking) -> None:
        """Takes what `Budget.book` has booked."""
        self._native = native
        self._is_begun = False

    def settle(
        self,
        input_tokens: int | None = None,
        output_tokens: int | None = None,
        *,
        cache_read_tokens: int = 0,
        cache_write_tokens: int = 0,
    ) -> None:
        """Settles the call by the usage that its provider reported.

        `input_tokens` counts all tokens of the prompt, cached ones included. If a figure is missing, or nothing was
        read, the call takes what was booked.
        """
        if input_tokens is None or output_tokens is None:
            return self._native.settle(None)
        self._native.settle(
            {
                "input_tokens": whole_number(input_tokens, "`input_tokens`"),
                "output_tokens": whole_number(output_tokens, "`output_tokens`"),
                "cache_read_tokens": whole_number(cache_read_tokens, "`cache_read_tokens`"),
                "cache_write_tokens": whole_number(cache_write_tokens, "`cache_write_tokens`"),
            }
        )

    def release(self) -> None:
        """Gives the booking back: the call was not made."""
        self._native.release()

    def __enter__(self) -> Booking:
        if self._is_begun or not self._native.is_open:
            raise InvalidError("this booking is used; book each call once")
        self._is_begun = True
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._native.is_open:
            self._native.settle(None)


class Budget:
    """Caps on what the calls of a process take. Book before each call, and settle it by its usage.

    A call whose price is unknown needs a cap on tokens. Dollars follow the providers' list prices.
    """

    def __init__(self, *, tokens: int | None = None, dollars: float | None = None) -> None:
        """Caps tokens of prompts and answers, dollars, or both."""
        self._native = _native.Budget(None if tokens is None else whole_number(tokens, "`tokens`"), dollars)

    def book(self, prompt: Any, *, model: str, output_tokens: int, input_tokens: int | None = None) -> Booking:
        """Books the most that a call can take. Raises `BudgetExceeded` if a cap has no room for it.

        `prompt` is everything that goes over the wire: a text, or a list of messages, with the tools. No tokeniser
        makes more tokens of a text than it has bytes. For pictures and files give the most `input_tokens` that the
        call can have. `output_tokens` is the cap on the answer that you send along.
        """
        most = _token_bound(prompt) if input_tokens is None else whole_number(input_tokens, "`input_tokens`")
        return Booking(self._native.book(model, most, whole_number(output_tokens, "`output_tokens`")))

    @property
    def spent_tokens(self) -> int | None:
        """The settled tokens. `None` without a cap on tokens."""
        return self._native.spent[0]

    @property
    def spent_dollars(self) -> float | None:
        """The settled dollars of all calls with a known price. `None` without a cap on dollars."""
        return self._native.spent[1]

    @property
    def unpriced_calls(self) -> int:
        """How many settled calls have no known price."""
        return self._native.spent[2]


def _token_bound(prompt: Any) -> int:
    plain, _ = plain_value(prompt, "prompt")
    return _native.prompt_token_bound(plain)
