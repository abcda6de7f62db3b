"""The types are complete: for the package, its tests and its examples."""

from pathlib import Path

import mypy.api

FOLDER = Path(__file__).parent
CRATE = FOLDER.parent


def test_the_types_are_complete(tmp_path: Path) -> None:
    paths = [CRATE / "python/proem_engine", *sorted(FOLDER.glob("*.py")), *sorted((CRATE / "examples").glob("*.py"))]
    arguments = ["--strict", "--python-version", "3.10", "--cache-dir", str(tmp_path), *map(str, paths)]
    found, problems, status = mypy.api.run(arguments)
    assert status == 0, found + problems
