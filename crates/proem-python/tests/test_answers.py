"""Values of answers, as dataclasses, models and JSON."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from enum import Enum
from typing import Annotated, Any, Literal

import pydantic
import pytest

from proem_engine import Decoded, InvalidError, NegativeError, Untrusted, decode


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


@dataclass
class Part:
    name: str
    colour: Colour


@dataclass
class Product:
    name: str
    faulty: bool
    grade: Literal["a", "b"]
    parts: list[Part]
    size: tuple[int, ...] = ()
    weight: float | None = None
    notes: Annotated[dict[str, str], "by author"] = field(default_factory=dict)
    spare: Part | None = None
    length: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        if self.name == "unknown":
            raise ValueError("`name` is unknown; name the product")


def test_answers_become_dataclasses() -> None:
    text = (
        'Here you are:\n```json\n{"name": "kettle", "faulty": true, "grade": "a", "parts": [{"name": "lid", "colour": '
        '"red"}], "size": [2, 3], "weight": 2,}\n```'
    )
    decoded = decode(text, Product)
    assert decoded.value == Product("kettle", True, "a", [Part("lid", Colour.RED)], (2, 3), 2.0)
    assert isinstance(decoded.value.weight, float)
    assert len(decoded.repairs) == 4 and isinstance(decoded, Untrusted)
    with pytest.raises(NegativeError) as caught:
        decode('{"name": "kettle", "faulty": "perhaps", "grade": "a", "parts": []}', Product)
    assert "/faulty" in caught.value.problems[0]
    with pytest.raises(NegativeError, match="name the product"):
        decode('{"name": "unknown", "faulty": true, "grade": "a", "parts": []}', Product)


class Line(pydantic.BaseModel):
    day: datetime.date
    amount: pydantic.PositiveInt


class Ticket(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(strict=True)

    title: str
    urgent: bool
    lines: list[Line] = []

    @pydantic.field_validator("title")
    @classmethod
    def is_short(cls, title: str) -> str:
        if len(title) > 20:
            raise ValueError("write a shorter title")
        return title


def test_answers_become_pydantic_models() -> None:
    text = '{"title": "Leak", "urgent": true, "lines": [{"day": "2026-11-30", "amount": 2}]}'
    decoded: Decoded[Ticket] = decode(text, Ticket)
    line = Line(day=datetime.date(2026, 11, 30), amount=2)
    assert decoded.value == Ticket(title="Leak", urgent=True, lines=[line])
    with pytest.raises(NegativeError, match="write a shorter title"):
        decode('{"title": "A kettle that leaks on the table", "urgent": true}', Ticket)
    with pytest.raises(NegativeError, match="amount"):
        decode('{"title": "Leak", "urgent": true, "lines": [{"day": "2026-11-30", "amount": -2}]}', Ticket)


@pytest.mark.parametrize(
    "text", ["", "no value", '{"urgent": true', '{"urgent": true} or {"urgent": false}', '{"other": 1}', '{"urgent": NaN}']
)
def test_a_doubtful_answer_is_refused(text: str) -> None:
    schema = {"type": "object", "properties": {"urgent": {"type": "boolean"}}, "required": ["urgent"]}
    with pytest.raises(NegativeError) as caught:
        decode(Untrusted(text), schema)
    assert caught.value.problems


@dataclass
class When:
    day: datetime.date


@dataclass
class Either:
    part: Part | Product


@dataclass
class Tree:
    branches: list[Tree]


@dataclass
class Lost:
    part: Missing  # type: ignore[name-defined]  # noqa: F821


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "nonsense"}, "nonsense"),
        ({"type": "array"}, "object"),
        ({"type": float("nan")}, "is nan"),
        (7, "no JSON Schema"),
        (str, "no JSON Schema"),
        (When, "of the field `day` has no JSON Schema here"),
        (Either, "of the field `part` has no JSON Schema here"),
        (Tree, "recursive"),
        (Lost, "can't be found"),
    ],
)
def test_a_wrong_schema_is_the_callers_mistake(schema: Any, words: str) -> None:
    with pytest.raises(InvalidError, match=words):
        decode("{}", schema)


def test_deep_and_long_answers_end() -> None:
    schema = {"type": "object"}
    with pytest.raises(NegativeError):
        decode('{"a":' * 100_000, schema)
    with pytest.raises(NegativeError):
        decode("[" * 1_000_000, schema)
    assert decode('{"a": "' + "x" * 1_000_000 + '"}', {"type": "object", "properties": {}}).value
