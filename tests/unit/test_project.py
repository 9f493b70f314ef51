"""The rules that hold for the whole tree, whoever writes in it."""

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LONGEST_FILE = 500
VAGUE_NAMES = {"utils", "util", "helpers", "helper", "common", "base", "misc"}
# A class of one letter each, so that this file keeps its own rule.
UNFINISHED = re.compile(r"\b(?:T[O]DO|F[I]XME|X[X]X|H[A]CK)\b")
# Where one failure must not stop the others.
BROAD_EXCEPTS = ["src/paddle_operator/control/controller.py", "src/paddle_operator/runtime/jobs.py"]
FENCE = re.compile(r"^(```|~~~).*?^\1[ \t]*$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^(#+) ", re.MULTILINE)
LINKS = (
    re.compile(r"\]\(<?([^)\s>]+)"),
    re.compile(r"^\[[^\]]+\]:[ \t]*(\S+)", re.MULTILINE),
    re.compile(r"""(?:src|href)=["']([^"']+)["']"""),
)


def tree() -> list[Path]:
    """Every file that is, or would be, committed."""
    argv = ["git", "-c", "safe.directory=*", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others"]
    listed = subprocess.run([*argv, "--exclude-standard"], capture_output=True, check=True).stdout
    files = [ROOT / name for name in listed.decode().split("\0") if name]
    return [path for path in files if path.is_file()]


FILES = tree()
SOURCES = [path for path in FILES if path.suffix == ".py" and path.is_relative_to(ROOT / "src")]
DOCUMENTS = [path for path in FILES if path.suffix == ".md"]


def relative(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


def test_the_tree_is_found() -> None:
    assert {ROOT / "pyproject.toml", Path(__file__)} <= set(FILES)
    assert {"src/localkube/cluster.py", "src/paddle_operator/cli/main.py"} <= set(relative(SOURCES))


@pytest.mark.parametrize("path", relative(SOURCES))
def test_a_module_says_in_one_line_what_it_owns(path: str) -> None:
    docstring = ast.get_docstring(ast.parse((ROOT / path).read_text()), clean=False)
    assert docstring, "it has no module docstring"
    assert "\n" not in docstring, "its module docstring has more than one line"


def is_written_by_hand(path: Path) -> bool:
    return path.suffix in {".py", ".go", ".sh"} or path.parent in {ROOT / "tools", ROOT / ".ci"}


def test_no_program_is_longer_than_a_reader_can_hold() -> None:
    programs = [path for path in FILES if is_written_by_hand(path)]
    assert relative([path for path in programs if len(path.read_text().splitlines()) > LONGEST_FILE]) == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [path for path in relative(SOURCES) if VAGUE_NAMES & set(Path(path).with_suffix("").parts)] == []


def unfinished_lines() -> Iterator[str]:
    for path in FILES:
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue  # a picture has no words
        for number, line in enumerate(text.splitlines(), start=1):
            if UNFINISHED.search(line):
                yield f"{path.relative_to(ROOT)}:{number}: {line.strip()}"


def test_nothing_is_left_for_later() -> None:
    assert list(unfinished_lines()) == []


def test_nothing_is_committed_that_was_built() -> None:
    programs = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe")
    assert relative([path for path in FILES if path.read_bytes().startswith(programs)]) == []


def catches_everything(node: ast.AST) -> bool:
    """Tell a bare `except`, and `Exception` or `BaseException` in an except clause or in `suppress`."""
    if isinstance(node, ast.ExceptHandler):
        caught = [node.type]
    elif isinstance(node, ast.Call) and "suppress" in ast.unparse(node.func):
        caught = list(node.args)
    else:
        return False
    names = [part for kind in caught if kind for part in (kind.elts if isinstance(kind, ast.Tuple) else [kind])]
    return caught == [None] or any(ast.unparse(name).split(".")[-1] in {"Exception", "BaseException"} for name in names)


@pytest.mark.parametrize(
    "code",
    [
        "try: pass\nexcept: pass",
        "try: pass\nexcept Exception: pass",
        "try: pass\nexcept (OSError, builtins.BaseException) as error: pass",
        "with contextlib.suppress(Exception): pass",
    ],
)
def test_a_broad_except_is_recognised(code: str) -> None:
    assert any(catches_everything(node) for node in ast.walk(ast.parse(code)))


def test_no_broad_except_hides_a_defect() -> None:
    found = [
        str(path.relative_to(ROOT))
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if catches_everything(node)
    ]
    assert sorted(found) == BROAD_EXCEPTS


PURE_PLACES = (
    *("desired/*", "desired/*/*", "kube/request.py"),
    *("engines/operations.py", "engines/reports.py", "engines/*/objects.py", "engines/*/flags.py"),
    *("engines/juicefs/blocks.py", "engines/juicefs/volume.py"),
)
PURE = [path for path in SOURCES if any(path.match(f"paddle_operator/{place}") for place in PURE_PLACES)]
WITHOUT_SURPRISES = {
    *("base64", "collections", "copy", "dataclasses", "datetime", "decimal", "enum", "hashlib", "json", "re", "typing"),
    *(
        "urllib.parse",
        "zlib",
        "cronsim",
        "msgspec",
        "paddle_operator.api",
        "paddle_operator.desired",
        "paddle_operator.engines",
    ),
}
SURPRISES = {"now", "today", "utcnow", "open", "input", "print", "eval", "exec", "__import__"}


def surprises(code: str) -> list[str]:
    """Name what a function could do, or find out, beyond its arguments: by what is imported, and by what is called."""
    found = []
    for node in ast.walk(ast.parse(code)):
        imported = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            imported = [str(node.module)]
        found += [
            name for name in imported if not any(f"{name}.".startswith(f"{known}.") for known in WITHOUT_SURPRISES)
        ]
        if isinstance(node, ast.Call) and (called := ast.unparse(node.func)).split(".")[-1] in SURPRISES:
            found.append(called)
    return found


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import os", ["os"]),
        ("import urllib.request", ["urllib.request"]),
        ("from random import choice", ["random"]),
        ("from paddle_operator.kube.client import Client", ["paddle_operator.kube.client"]),
        ("when = datetime.now(UTC)", ["datetime.now"]),
        ("open('/etc/passwd')", ["open"]),
        ("from paddle_operator.api import names", []),
        ("due = snapshot.now + delay", []),
    ],
)
def test_a_surprise_is_recognised(code: str, found: list[str]) -> None:
    assert surprises(code) == found


@pytest.mark.parametrize("path", relative(PURE))
def test_what_is_wanted_follows_from_what_was_observed_and_from_nothing_else(path: str) -> None:
    assert surprises((ROOT / path).read_text()) == []


@pytest.mark.parametrize("name", ["requirements.lock", "bench/kopf.lock"])
def test_a_lock_names_no_place_to_download_from(name: str) -> None:
    lock = (ROOT / name).read_text()
    assert "--hash=sha256:" in lock
    assert re.findall(r"\S+://\S+|^--\S*(?:index|find-links|host).*", lock, re.MULTILINE) == []


def outline(document: str) -> list[int]:
    return [len(marks) for marks in HEADING.findall(FENCE.sub("", document))]


def test_both_readmes_have_the_same_headings_and_the_same_commands() -> None:
    english, chinese = ((ROOT / name).read_text() for name in ("README.md", "README.zh-CN.md"))
    assert outline(english) == outline(chinese)
    commands = [[found.group() for found in FENCE.finditer(text)] for text in (english, chinese)]
    assert commands[0] == commands[1]


def linked_files(document: Path) -> Iterator[str]:
    text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", document.read_text()))
    for target in (found for pattern in LINKS for found in pattern.findall(text)):
        if not re.match(r"[a-z][a-z0-9+.-]*:|#", target):
            yield target.split("#")[0]


@pytest.mark.parametrize("path", relative(DOCUMENTS))
def test_a_document_links_only_to_files_that_exist(path: str) -> None:
    document = ROOT / path
    assert [target for target in linked_files(document) if not (document.parent / target).exists()] == []
