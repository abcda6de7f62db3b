"""Models and dataclasses as values of JSON."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections.abc import Iterable, Mapping
from typing import Any

from ._checks import check_text
from ._errors import InvalidError
from ._untrusted import Untrusted

_DEEPEST = 128
"""The deepest nesting, as for a model's answers. A value that contains itself is deeper."""
_LARGEST = 2**26
"""The most memory of a value, about, in bytes. Aliases of YAML make a larger one of a few lines."""
_EACH = 64
"""The memory of a value beside its text, about, in bytes."""


def plain_value(value: Any, place: str) -> tuple[Any, bool]:
    """The value in the types of JSON, and whether a part of it is marked as from outside.

    Takes pydantic models, dataclasses, enumerations, and lists and mappings of them. `place` names it in errors.
    """
    walk = _Walk()
    return walk.plain(value, place, 0), walk.met_outside


class _Walk:
    """One value's parts."""

    def __init__(self) -> None:
        self.met_outside = False
        self._size = 0

    def plain(self, value: Any, place: str, depth: int) -> Any:
        if depth > _DEEPEST:
            raise InvalidError(f"{place[:80]}… nests deeper than {_DEEPEST} levels; give a flatter value")
        self._size += _EACH + (len(value) if isinstance(value, str) else 0)
        if self._size > _LARGEST:
            raise InvalidError(f"{place[:80]}… is beyond the {_LARGEST >> 20} MiB of a value; give less, or no aliases")
        if value is None or isinstance(value, bool):
            return value
        if isinstance(value, enum.Enum):
            return self.plain(value.value, place, depth + 1)
        if isinstance(value, str):
            check_text(value, place)
            return value
        if isinstance(value, (int, float)):
            return _number(value, place)
        if isinstance(value, Untrusted):
            self.met_outside = True
            return self.plain(value.value, place, depth + 1)
        if isinstance(value, (list, tuple)):
            return [self.plain(item, f"{place}[{index}]", depth + 1) for index, item in enumerate(value)]
        return self.record(value, place, depth)

    def record(self, value: Any, place: str, depth: int) -> Any:
        fields = _fields_of(value)
        if fields is None:
            # For bytes the remedy is another.
            check_text(value, place)
            return value
        return {_key(name, place): self.plain(item, f"{place}.{name}", depth + 1) for name, item in fields}


def plain_inputs(inputs: Any) -> tuple[dict[str, Any], set[str]]:
    """The inputs of a prompt as values of JSON, and the names of those that are from outside."""
    if isinstance(inputs, Untrusted):
        plain, _ = plain_inputs(inputs.value)
        return plain, set(plain)
    fields = _fields_of(inputs)
    if fields is None:
        raise InvalidError(f"the inputs are of type `{type(inputs).__name__}`; give a mapping, a model or a dataclass")
    plain, outside = {}, set()
    for name, value in fields:
        plain[_key(name, "the inputs")], is_outside = plain_value(value, f"input `{name}`")
        if is_outside:
            outside.add(name)
    return plain, outside


def _fields_of(value: Any) -> Iterable[tuple[Any, Any]] | None:
    """The names and values of a mapping, a pydantic model or a dataclass."""
    if isinstance(value, Mapping):
        return value.items()
    if isinstance(value, type):
        return None
    if hasattr(value, "model_dump"):
        dumped = value.model_dump(mode="json")
        return dumped.items() if isinstance(dumped, dict) else None
    if dataclasses.is_dataclass(value):
        return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]
    return None


def _number(value: float, place: str) -> float:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidError(f"{place} is {value}, and JSON has no such number; give `None` or a text")
    if isinstance(value, int) and not -(2**63) <= value < 2**64:
        raise InvalidError(f"{place} has more than 64 bits; give it as a text")
    return value


def _key(key: Any, place: str) -> str:
    check_text(key, f"a key of {place}")
    return str(key)
