"""The tools that a task needs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from . import _native
from ._untrusted import Untrusted, text_of
from ._values import plain_value


@dataclass(frozen=True)
class RankedTool:
    """A tool with how likely a task needs it."""

    name: str
    """Its name as you gave it. Several that differ only in signs that no provider takes have names that differ more."""
    probability: float
    """How likely the task needs it: 0 to 1, calibrated."""
    fits: bool
    """Whether that reaches the threshold below which a tool is better left out."""


class Toolbox:
    """The tools that an agent has, ready to be ranked for many tasks."""

    def __init__(self, tools: Iterable[Mapping[str, Any]]) -> None:
        """Takes tools with `name` and `description`, and optionally `parameters` and `examples`.

        Tools in the form that OpenAI's clients take, below `function`, are read as well.
        """
        plain = [plain_value(tool, f"tool {number}")[0] for number, tool in enumerate(tools, start=1)]
        inner = [tool.get("function", tool) if isinstance(tool, dict) else tool for tool in plain]
        self._native = _native.Toolbox("\n".join(json.dumps(tool) for tool in inner))

    def rank(self, task: str | Untrusted[str]) -> list[RankedTool]:
        """All tools, the likeliest first. For a task that needs none of them, none fits."""
        return [RankedTool(*tool) for tool in self._native.rank(text_of(task, "the task"))]


def select(task: str | Untrusted[str], tools: Iterable[Mapping[str, Any]], *, most: int = 10) -> list[str]:
    """The names of the tools that a task needs, the likeliest first."""
    return [tool.name for tool in Toolbox(tools).rank(task) if tool.fits][: max(most, 0)]
