"""Sample mutants of the package and count those that the tests of the same folder notice: ``make mutants``.

A mutant is the package with one small change, such as ``<`` to ``<=`` or ``and`` to ``or``, made by cosmic-ray's
operators. It is tested in a copy of the working tree with the unit tests of the module's own folder
(``tests/unit/sink`` for ``kafka_sql/sink/upsert.py``). A surviving mutant points at behavior that no test there
asserts, or at code that makes no difference. Annotations and docstrings are not changed.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from pathlib import Path
from typing import Any, Final

from cosmic_ray.ast import get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names

ROOT: Final = Path(__file__).parents[1]
PACKAGE: Final = "kafka_sql"
_SKIPPED: Final = ("core/ExceptionReplacer", "core/RemoveDecorator", "core/VariableReplacer", "core/VariableInserter")
_TESTS: Final = ("-x", "-q", "-p", "no:cacheprovider", "-m", "not long", "--hypothesis-profile=few")
_MARGIN: Final = 120  # seconds beyond three times the duration without a mutation


@dataclass(frozen=True)
class Mutant:
    """One change to one module.

    Attributes:
        module: path of the module, relative to the repository.
        operator: cosmic-ray's name of the change.
        source: the changed module.
        diff: the changed lines.
    """

    module: str
    operator: str
    source: str
    diff: str


def main() -> int:
    """Sample, test and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=50, help="number of mutants")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[PACKAGE], help="files or folders to sample from")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="kafka_sql-mutants-") as folder:
        copy = Path(folder)
        for name in _tracked([]):
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
        mutants = sample(_modules(arguments.only), arguments.count, random.Random(arguments.seed))
        return report([(mutant, _is_noticed(copy, mutant)) for mutant in mutants])


def sample(modules: list[str], count: int, rng: random.Random) -> Iterator[Mutant]:
    """Draw mutants: a module by its size, a place in it, and a change that applies there."""
    sizes = [(ROOT / module).stat().st_size for module in modules]
    drawn: set[tuple[str, str]] = set()
    while len(drawn) < count:
        (module,) = rng.choices(modules, sizes)
        mutant = draw(module, (ROOT / module).read_text(), rng)
        if mutant is not None and (module, mutant.source) not in drawn:
            drawn.add((module, mutant.source))
            yield mutant


def draw(module: str, source: str, rng: random.Random) -> Mutant | None:
    """Draw one mutant of a source; None if it has no place to change."""
    annotations = list(_annotations(source))
    tree = get_ast(source)
    places: dict[tuple[int, int], list[tuple[str, int]]] = {}
    for name in operator_names():
        if name.startswith(_SKIPPED):
            continue
        for occurrence, (start, end) in enumerate(_positions(tree, name)):
            if not any(first <= start and end <= last for first, last in annotations):
                places.setdefault(start, []).append((name, occurrence))
    if not places:
        return None
    name, occurrence = rng.choice(places[rng.choice(sorted(places))])
    changed = mutate_code(source, get_operator(name)(), occurrence)
    if changed is None or changed == source:
        return None
    diff = unified_diff(source.splitlines(), changed.splitlines(), module, "mutant", lineterm="", n=0)
    return Mutant(module, name, changed, "\n".join(list(diff)[2:]))


def report(results: list[tuple[Mutant, bool]]) -> int:
    """Print survivors and the share of mutants that were noticed, per package. Returns the number of survivors."""
    survivors = [mutant for mutant, noticed in results if not noticed]
    for mutant in survivors:
        print(f"\nsurvived: {mutant.module} ({mutant.operator})\n{mutant.diff}")
    print()
    packages = sorted({_package(mutant) for mutant, _ in results})
    for package in packages:
        noticed = [is_noticed for mutant, is_noticed in results if _package(mutant) == package]
        print(f"{package:32} {sum(noticed):4} of {len(noticed):4} noticed")
    print(f"{'all':32} {len(results) - len(survivors):4} of {len(results):4} noticed")
    return len(survivors)


def _package(mutant: Mutant) -> str:
    return "/".join(Path(mutant.module).parts[1:-1]) or "."


def _is_noticed(copy: Path, mutant: Mutant) -> bool:
    tests = _own_tests(mutant.module)
    started = time.monotonic()
    if tests not in _durations:
        if _run(copy, tests, None) != 0:
            raise SystemExit(f"{tests} fail without a mutation")
        _durations[tests] = time.monotonic() - started
    target = copy / mutant.module
    original = target.read_text()
    target.write_text(mutant.source)
    try:
        noticed = _run(copy, tests, 3 * _durations[tests] + _MARGIN) != 0
    finally:
        target.write_text(original)
    print("." if noticed else "S", end="", flush=True)
    return noticed


_durations: Final[dict[str, float]] = {}


def _run(copy: Path, tests: str, timeout: float | None) -> int:
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *_TESTS, tests],
            cwd=copy,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return 1
    return done.returncode


def _own_tests(module: str) -> str:
    """The nearest folder of unit tests with the module's path."""
    folder = Path("tests/unit", *Path(module).parts[1:-1])
    while not any((ROOT / folder).rglob("test_*.py")):
        folder = folder.parent
    return str(folder)


def _modules(names: list[str]) -> list[str]:
    return [
        name
        for name in _tracked(names)
        if name.endswith(".py") and name.startswith(f"{PACKAGE}/") and not name.endswith(("__init__.py", "__main__.py"))
    ]


def _tracked(names: list[str]) -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *names]
    paths = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
    return [name for name in paths if (ROOT / name).is_file()]


def _positions(tree: Any, name: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Start and end (line, column) of all places in a syntax tree where an operator applies, in its order."""
    operator = get_operator(name)()
    pending = [tree]
    while pending:
        node = pending.pop()
        yield from operator.mutation_positions(node)
        pending += reversed(getattr(node, "children", ()))


def _annotations(source: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    for node in ast.walk(ast.parse(source)):
        annotations = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp | ast.Subscript):
            targets = [t.id for t in node.targets if isinstance(t, ast.Name)]
            # a type alias
            annotations += [node.value] if any(t[0].isupper() and not t.isupper() for t in targets) else []
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            annotations.append(node)
        for part in annotations:
            if isinstance(part, ast.AST) and hasattr(part, "lineno"):
                yield (part.lineno, part.col_offset), (part.end_lineno or 0, part.end_col_offset or 0)


if __name__ == "__main__":
    raise SystemExit(bool(main()))
