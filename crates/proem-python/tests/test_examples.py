"""Every example prints what its first comment says."""

import ast
import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_prints_what_it_says(example: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documented = ast.get_docstring(ast.parse(example.read_text(encoding="utf-8"))) or ""
    _, expected = documented.split("\n\n", 1)
    runpy.run_path(str(example), run_name="__main__")
    assert capsys.readouterr().out.strip() == expected.strip()


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 5
