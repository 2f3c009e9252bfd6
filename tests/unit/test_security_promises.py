"""Test that each promise in SECURITY.md names a test that exists."""

from __future__ import annotations

import ast
import re

from tests.documents import ROOT

PROMISE = re.compile(r"^\| (.+) \| `(tests/\S+\.py)::(test_\w+)` \|$", re.MULTILINE)


def test_every_promise_has_a_test() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    promises = PROMISE.findall(text)
    rows = [line for line in text.splitlines() if line.startswith("|") and not line.startswith(("|---", "| promise"))]
    assert len(promises) == len(rows)
    for promise, file, name in promises:
        tree = ast.parse((ROOT / file).read_text())
        assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, promise
