"""docs/compatibility.md promises tests: each is there, under its name."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEST = re.compile(r"^(?:async )?def (test_\w+)\(", re.MULTILINE)
NAMED = re.compile(r"`(test_\w+)(?:\[([^`]+)\])?`")
TEXTS = [path.read_text() for path in (ROOT / "tests").rglob("*.py")]
TESTS = {name for text in TEXTS for name in TEST.findall(text)}


def rows() -> list[list[str]]:
    """Give the cells of each row of each table, less the headings."""
    lines = (ROOT / "docs/compatibility.md").read_text().splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines if line.startswith("| ")]
    return [row for row in cells if row[0] != "the original"]


def test_the_tables_are_found() -> None:
    assert len(rows()) > 35
    assert {len(row) for row in rows()} == {3}


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0][:60])
def test_what_the_original_did_wrong_is_held_by_tests_that_there_are(row: list[str]) -> None:
    named = NAMED.findall(row[2])
    assert named
    assert ", ".join(f"`{name}[{case}]`" if case else f"`{name}`" for name, case in named) == row[2].rstrip(" |")
    assert [name for name, _ in named if name not in TESTS] == []
    assert [case for _, case in named if case and not any(f'"{case}"' in text for text in TEXTS)] == []
