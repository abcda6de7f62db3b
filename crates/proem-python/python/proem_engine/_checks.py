"""Checks of arguments."""

from __future__ import annotations

from ._errors import InvalidError


def check_text(text: object, what: str) -> None:
    """Refuses anything but text. A lone surrogate is no character, so no model can read it."""
    if isinstance(text, (bytes, bytearray, memoryview)):
        raise InvalidError(f"{what} is bytes; decode it, such as with `.decode('utf-8', errors='replace')`")
    if not isinstance(text, str):
        raise InvalidError(f"{what} is of type `{type(text).__name__}`; give a text")
    if text.isascii():
        return
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidError(
            f"{what} has a lone surrogate at character {error.start}; read it with `errors='replace'`"
        ) from None


def whole_number(value: int, what: str) -> int:
    """A number of tokens."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise InvalidError(f"{what} is {value!r:.40}; give a whole number of at least 0")
    return value


def secret(key: bytes | None) -> bytes | None:
    """A secret behind delimiters."""
    if key is not None and not isinstance(key, bytes):
        raise InvalidError(f"`key` is of type `{type(key).__name__}`; give 32 random bytes")
    if key is not None and len(key) != 32:
        raise InvalidError(f"`key` has {len(key)} bytes; give 32 random bytes")
    return key
