"""Checked values of models' answers."""

from __future__ import annotations

import dataclasses
import enum
import json
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar, overload

from . import _native
from ._errors import InvalidError, NegativeError
from ._untrusted import Untrusted, text_of
from ._values import plain_value

Answer = TypeVar("Answer")


class Decoded(Untrusted[Answer]):
    """A value of a model's answer. It meets the schema, and it is from outside, as everything that a model says."""

    __slots__ = ("repairs",)

    repairs: list[str]
    """What had to be repaired to read it, a sentence each."""

    def __init__(self, value: Answer, repairs: list[str]) -> None:
        """Takes the value, and what was repaired."""
        super().__init__(value)
        self.repairs = repairs


@overload
def decode(text: str | Untrusted[str], schema: Mapping[str, Any]) -> Decoded[Any]: ...
@overload
def decode(text: str | Untrusted[str], schema: type[Answer]) -> Decoded[Answer]: ...
def decode(text: str | Untrusted[str], schema: Any) -> Decoded[Any]:
    """Reads the value that a schema, a pydantic model or a dataclass asks for from the text of a model's answer.

    It is read out of a code fence, from between sentences, with a trailing comma. Raises `NegativeError` if there is
    none, if it could mean two things, or if it was cut off.
    """
    value, repairs = _native.decode_answer(text_of(text, "the answer"), _schema_of(schema))
    return Decoded(_value_of(schema, value), repairs)


def _schema_of(target: Any) -> dict[str, Any]:
    """The JSON Schema of what an answer should be."""
    if isinstance(target, Mapping):
        schema, _ = plain_value(target, "the schema")
        return dict(schema)
    if isinstance(target, type) and hasattr(target, "model_json_schema"):
        return dict(target.model_json_schema())
    if isinstance(target, type) and dataclasses.is_dataclass(target):
        return _DataclassSchema().of(target)
    raise InvalidError(f"`{target!r:.80}` is no JSON Schema, no pydantic model and no dataclass; give one of these")


def _value_of(target: Any, value: Any) -> Any:
    """The decoded value as what was asked for. Its own checks have the last word."""
    try:
        if hasattr(target, "model_validate_json"):
            return target.model_validate_json(json.dumps(value))
        if isinstance(target, type) and dataclasses.is_dataclass(target):
            return _value_of_type(target, value)
    except (TypeError, ValueError) as error:
        raise NegativeError(f"the value is refused by `{target.__name__}`: {error}") from error
    return value


_SCALARS: dict[Any, str] = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


class _DataclassSchema:
    """The JSON Schema of a dataclass, with those it contains as definitions."""

    def __init__(self) -> None:
        self.definitions: dict[str, dict[str, Any]] = {}
        self.names: dict[type, str] = {}

    def of(self, root: type) -> dict[str, Any]:
        self.reference(root)
        return {**self.definitions[self.names[root]], "$defs": self.definitions}

    def reference(self, kind: type) -> dict[str, Any]:
        name = self.names.get(kind)
        if name is None:
            name = f"{kind.__name__}{len(self.names) or ''}"
            self.names[kind] = name
            hints = _hints(kind)
            fields = [field for field in dataclasses.fields(kind) if field.init]
            self.definitions[name] = {
                "type": "object",
                "properties": {field.name: self.part(hints[field.name], field.name) for field in fields},
                "required": [field.name for field in fields if _is_required(field)],
                "additionalProperties": False,
            }
        return {"$ref": f"#/$defs/{name}"}

    def part(self, kind: Any, field: str) -> dict[str, Any]:
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if kind is Any:
            return {}
        if kind in _SCALARS:
            return {"type": _SCALARS[kind]}
        if origin is typing.Annotated:
            return self.part(arguments[0], field)
        if origin is typing.Literal:
            return {"enum": list(arguments)}
        if origin is list and arguments or origin is tuple and arguments[1:] == (...,):
            return {"type": "array", "items": self.part(arguments[0], field)}
        if origin is dict and arguments[:1] == (str,):
            return {"type": "object", "additionalProperties": self.part(arguments[1], field)}
        if origin in (typing.Union, types.UnionType) and _is_clear(arguments):
            return {"anyOf": [self.part(argument, field) for argument in arguments]}
        if isinstance(kind, type) and issubclass(kind, enum.Enum):
            return {"enum": [member.value for member in kind]}
        if isinstance(kind, type) and dataclasses.is_dataclass(kind):
            return self.reference(kind)
        raise InvalidError(
            f"the type `{kind!r:.80}` of the field `{field}` has no JSON Schema here; use a pydantic model"
        )


def _hints(kind: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(kind, include_extras=True)
    except NameError as error:
        raise InvalidError(f"a type of `{kind.__name__}` can't be found: {error}; define it in the module") from error


def _is_required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _is_clear(members: tuple[Any, ...]) -> bool:
    """Whether a value says of which member of a union it is: at most one of them is more than a scalar."""
    return sum(member not in _SCALARS for member in members) <= 1


def _value_of_type(kind: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _value_of_type(arguments[0], value)
    if kind is float and isinstance(value, int):
        return float(value)
    if isinstance(kind, type) and dataclasses.is_dataclass(kind) and isinstance(value, dict):
        hints = _hints(kind)
        return kind(**{name: _value_of_type(hints[name], item) for name, item in value.items()})
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return kind(value)
    if origin in (list, tuple) and isinstance(value, list):
        return origin(_value_of_type(arguments[0], item) for item in value)
    if origin is dict and isinstance(value, dict):
        return {name: _value_of_type(arguments[1], item) for name, item in value.items()}
    if origin in (typing.Union, types.UnionType):
        return _value_of_union(arguments, value)
    return value


def _value_of_union(members: tuple[Any, ...], value: Any) -> Any:
    if value is None or type(value) in members:
        return value
    fitting = [member for member in members if member not in _SCALARS] or [float]
    return _value_of_type(fitting[0], value)
