"""Recorded runs, for notebooks and reports.

The program `proem` reads them: it alone knows where the records are, and which forms they had. Everything here has
the keys of the program's published schemas; `proem schema` lists them.

    from proem_engine import records

    calls = list(records.open(".").calls(since="30d"))   # one dictionary for each call: tokens, cost, time, contract
"""

from __future__ import annotations

import json
import subprocess
import sysconfig
from collections.abc import Generator
from os import PathLike, fspath
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from ._checks import whole_number
from ._errors import InvalidError, NegativeError, OutsideError, ProemError
from ._untrusted import Untrusted

_FAILURES: dict[int, type[ProemError]] = {1: NegativeError, 2: InvalidError}
"""The kinds of failures by the program's exit codes. Any other code is a failure outside."""


class Records:
    """The recorded runs of a project, or of all projects of this user."""

    def __init__(self, program: str, place: list[str]) -> None:
        """Takes the program, and the arguments that say whose runs are meant."""
        self._program = program
        self._place = place

    def runs(self, *, since: str | None = None, prompt: str | None = None, limit: int = 20) -> list[dict[str, Any]]:
        """The newest runs, by the schema `runs-list`: those that asked a model or changed something.

        `since` is a day such as `2026-11-01`, or `7d`. `prompt` is an agent, or one of its prompts.
        """
        wanted = ["--limit", str(whole_number(limit, "`limit`")), *_chosen(since, prompt)]
        found: list[dict[str, Any]] = self._document(["runs", "list", *wanted, *self._place])
        return found

    def run(self, run: str) -> Untrusted[dict[str, Any]]:
        """Everything that is kept of a run, by the schema `runs-show`. Its texts may be anybody's.

        `run` is its id or the beginning of one.
        """
        return Untrusted(self._document(["runs", "show", *self._place, "--", run]))

    def calls(self, *, since: str | None = None, prompt: str | None = None) -> Generator[dict[str, Any], None, None]:
        """Every call to a model, the oldest first, by the schema `runs-export`. They have figures and names, no text.

        They are read while the program prints them, so that any number of calls takes little memory. Whatever went wrong
        is raised behind the last one.
        """
        command = [self._program, "--quiet", "runs", "export", *_chosen(since, prompt), *self._place]
        # A pipe that nobody empties would stop the program when it is full.
        with TemporaryFile("w+", encoding="utf-8") as said:
            with _started(command, said) as process:
                assert process.stdout is not None
                try:
                    for line in process.stdout:
                        yield json.loads(line)
                except GeneratorExit:
                    process.kill()
                    raise
            said.seek(0)
            _check_end(process.returncode, said.read())

    def _document(self, arguments: list[str]) -> Any:
        place = arguments.index("--") if "--" in arguments else len(arguments)
        command = [self._program, "--quiet", *arguments[:place], "--json", *arguments[place:]]
        with _started(command) as process:
            printed, said = process.communicate()
        _check_end(process.returncode, said)
        return json.loads(printed)


def open(
    root: str | PathLike[str] = ".", *, everything: bool = False, program: str | PathLike[str] | None = None
) -> Records:
    """The records of the project around a folder, or of `everything` that this user keeps.

    `program` names the binary. Without it, the one that `pip install 'proem-engine[program]'` put beside this Python is
    taken, or else `proem` from the `PATH`. Raises `OutsideError` if it can't be started.
    """
    program = _installed_program() if program is None else fspath(program)
    with _started([program, "--version"]) as process:
        _, said = process.communicate()
    _check_end(process.returncode, said)
    if not isinstance(everything, bool):
        raise InvalidError(f"`everything` is of type `{type(everything).__name__}`; give `True` or `False`")
    place = [f"--root={fspath(root)}"]
    return Records(program, [*place, "--all"] if everything else place)


def _installed_program() -> str:
    beside = Path(sysconfig.get_path("scripts"), "proem")
    return str(beside) if beside.is_file() else "proem"


def _chosen(since: str | None, prompt: str | None) -> list[str]:
    given = [("--since", since), ("--prompt", prompt)]
    return [f"{option}={value}" for option, value in given if value is not None]


def _started(command: list[str], said: IO[str] | int = subprocess.PIPE) -> subprocess.Popen[str]:
    try:
        return subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=said, encoding="utf-8"
        )
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise OutsideError(
            f"the program `{command[0]}` can't be started: {why}; `pip install 'proem-engine[program]'` brings it, "
            "or name its place as `program`"
        ) from None


def _check_end(code: int, said: str) -> None:
    if code == 0:
        return
    problems = [line.removeprefix("error: ") for line in said.splitlines() if line]
    raise _FAILURES.get(code, OutsideError)(problems or [f"the program ended with code {code}"])
