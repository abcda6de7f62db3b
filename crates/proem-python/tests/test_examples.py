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


def test_the_readme_runs() -> None:
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    _, code = readme.split("```python\n", 1)
    names: dict[str, object] = {}
    exec(code.split("```", 1)[0], names)
    assert "The kettle leaks." in str(names["messages"])


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 5
