"""The guard: attacks in text from outside, and its containment."""

from __future__ import annotations

from dataclasses import dataclass

from . import _native
from ._checks import secret
from ._untrusted import Untrusted, text_of


@dataclass(frozen=True)
class Finding:
    """One finding of the guard."""

    rule: str
    """The rule, such as `override/ignore`."""
    severity: str
    """The harm it could do: `low`, `medium`, `high` or `critical`."""
    start: int
    """The first character, counted from 0."""
    end: int
    """The character behind the last."""


@dataclass(frozen=True)
class ScanReport:
    """The guard's findings in one text."""

    verdict: str
    """`allow`, `flag`, `quarantine` or `block`."""
    score: float
    """How suspicious the text is, 0 to 1."""
    findings: list[Finding]
    """The findings, by place."""
    unread: list[str]
    """The parts that the guard could not read, in words."""


@dataclass(frozen=True)
class Containment:
    """A text from outside as it may stand in a user message of a prompt."""

    text: str
    """The text between delimiters whose end nobody can write who lacks the key. Flagged text has a mark at each word.
    `(withheld)` represents a text that is kept out."""
    withheld: bool
    """Whether the guard kept the text out."""
    report: ScanReport
    """The guard's findings in the text."""


class Guard:
    """Looks for attacks in text from outside, and makes such text fit for a prompt."""

    def __init__(self, *, key: bytes | None = None) -> None:
        """Takes a secret of 32 random bytes: processes that share it write the same delimiters.

        Otherwise each process makes a secret of its own.
        """
        self._native = _native.Guard(secret(key))

    def scan(self, text: str | Untrusted[str]) -> ScanReport:
        """Looks for attacks in a text: rules over every reading of it, and a learned scorer of sentences."""
        return _report(self._native.scan(text_of(text, "the text")))

    def contain(self, text: str | Untrusted[str]) -> Containment:
        """Puts a text from outside between delimiters, for a user message of a prompt.

        Imitations of delimiters and roles in it are taken apart.
        """
        fields = self._native.contain(text_of(text, "the text"))
        return Containment(fields["text"], fields["withheld"], _report(fields["report"]))


def _report(fields: _native.ReportFields) -> ScanReport:
    findings = [Finding(**finding) for finding in fields["findings"]]
    return ScanReport(fields["verdict"], fields["score"], findings, fields["unread"])
