"""Recorded runs, as the program reads them."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from proem_engine import InvalidError, NegativeError, OutsideError, records
from test_guide import ROOT, Provider, provider

PROGRAM = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "debug/proem"
"""The program, which `cargo build` in the workspace makes."""

__all__ = ["provider"]


@pytest.fixture
def asked(provider: Provider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which a model was asked two questions."""
    for name in ["config", "state", "cache"]:
        monkeypatch.setenv(f"XDG_{name.upper()}_HOME", str(tmp_path / name))
    (tmp_path / "config/proem").mkdir(parents=True)
    base = os.environ["OPENAI_BASE_URL"]
    (tmp_path / "config/proem/config.toml").write_text(
        f'[providers.local]\nbase_url = "{base}"\n[roles]\nsmall = "local/some-model"\n', encoding="utf-8"
    )
    monkeypatch.setattr("test_guide.ANSWERS", [{"role": "assistant", "content": f"It is {n}."} for n in range(2)])
    for question in ["What is first?", "What is second?"]:
        done = subprocess.run(
            [PROGRAM, "ask", question, "--model", "small", "--no-adapt"],
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
        )
        assert done.returncode == 0, done.stderr
    return tmp_path


def test_runs_and_calls_are_read(asked: Path) -> None:
    found = records.open(asked, program=PROGRAM)
    runs = found.runs()
    assert [run["outcome"] for run in runs] == ["answered", "answered"] and len(found.runs(limit=1)) == 1
    whole = found.run(runs[0]["id"])
    with pytest.raises(InvalidError):
        f"{whole}"
    assert "It is 1." in str(whole.value["calls"][0])
    calls = list(found.calls(since="7d", prompt="ask"))
    assert [call["model"] for call in calls] == ["some-model", "some-model"]
    assert "It is" not in str(calls), "figures have no text"
    begun = found.calls()
    assert next(begun)["run"] == runs[1]["id"]
    begun.close()
    assert len(records.open(asked, everything=True, program=PROGRAM).runs()) == 2


def test_the_program_beside_this_python_is_taken(asked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (asked / "bin").mkdir()
    (asked / "bin/git").symlink_to(str(shutil.which("git")))
    monkeypatch.setenv("PATH", str(asked / "bin"))
    monkeypatch.setattr(sysconfig, "get_path", {"scripts": str(asked)}.__getitem__)
    with pytest.raises(OutsideError, match="`proem` can't be started"):
        records.open(asked)
    (asked / "proem").symlink_to(PROGRAM)
    assert len(records.open(asked).runs()) == 2


def test_failures_say_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    with pytest.raises(OutsideError, match="`pip install .proem-engine.program..` brings it"):
        records.open(program="no-such-program")
    found = records.open(tmp_path, program=PROGRAM)
    assert found.runs() == [] and list(found.calls()) == []
    with pytest.raises(InvalidError, match="yesterday"):
        found.runs(since="yesterday")
    with pytest.raises((InvalidError, NegativeError)):
        found.run("--help")
    with pytest.raises(InvalidError, match="yesterday"):
        list(found.calls(since="yesterday"))


def test_a_program_that_fails_is_an_error(tmp_path: Path) -> None:
    script: Any = tmp_path / "fails"
    script.write_text(f"#!{sys.executable}\nimport sys\nif '--version' not in sys.argv: sys.exit(3)\n", encoding="utf-8")
    script.chmod(0o755)
    with pytest.raises(OutsideError, match="ended with code 3"):
        records.open(tmp_path, program=script).runs()
