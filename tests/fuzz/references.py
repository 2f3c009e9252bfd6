"""Fuzz secret references and properties files: they are resolved, or raise an error that quotes no secret.

Files outside the allowed folders must never be read.
"""

from __future__ import annotations

import atexit
import os
import random
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kafka_sql.errors import SecretReferenceError
from kafka_sql.options.allow_lists import PATHS
from kafka_sql.options.secret_references import has_reference, is_reference, resolve
from tests.fuzz.mutation import lengthen, mutate, mutate_text

OUTSIDE: Final = "outside-4711"
PLANTED: Final = "planted-4711"
_FILE: Final = (
    f"# comment\nkey.password = {PLANTED}\nlong : a\\\n  b\n\u00f6\\u0020\u00fc=x\n! more\na\\:b=\\t{PLANTED}\n"
)


def make() -> Callable[[random.Random], str]:
    """Return a target with an allowed folder, a forbidden one, and links between them."""
    root = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    inside, outside = root / "in", root / "out"
    for folder in (inside, outside, inside / "sub"):
        folder.mkdir()
    (outside / "secret").write_text(OUTSIDE)
    (outside / "s.properties").write_text(f"k={OUTSIDE}\n")
    (inside / "s.properties").write_text("k=v\n")
    (inside / "secret").write_text("v")
    (inside / "link").symlink_to(outside / "secret")
    (inside / "away").symlink_to(outside)
    (inside / "sub" / "up").symlink_to("../..")
    valid = [
        f"${{file:{inside}/s.properties:k}}",
        f"${{directory:{inside}:secret}}",
        f"${{directory:{inside}:link}}",
        f"${{file:{inside}/away/s.properties:k}}",
        f"a${{env:HOME}}${{file:{inside}/../out/s.properties:k}}",
        f"${{directory:{inside}/sub/up/out:secret}}",
        f"${{directory:{inside}/sub/../../out:secret}}",
    ]
    words = ("..", "/", "~", "out", "in", "sub", "up", "away", "link", "secret", str(outside), ":", "${file:", "}")
    properties = inside / "mutated.properties"

    def feed(rng: random.Random) -> str:
        os.environ[PATHS] = str(inside)
        try:
            if rng.random() < 0.5:
                return _reference(rng, valid, words)
            properties.write_bytes(mutate(rng, _FILE.encode()))
            key = rng.choice(("key.password", "long", "\u00f6 \u00fc", "a:b", ""))
            return _resolved(f"${{file:{properties}:{key}}}")
        finally:
            del os.environ[PATHS]

    return feed


def _reference(rng: random.Random, valid: list[str], words: tuple[str, ...]) -> str:
    text = mutate_text(rng, rng.choice(valid), words)
    if rng.random() < 0.002:
        text = lengthen(rng, text, 20_000)
    is_reference(text)
    outcome = _resolved(text)
    assert has_reference(text) or outcome == "unchanged"
    return outcome


def _resolved(text: str) -> str:
    try:
        resolved = resolve(text, "o")
    except SecretReferenceError as e:
        message = str(e)
        assert OUTSIDE not in message
        assert PLANTED not in message
        return "rejected"
    assert OUTSIDE not in resolved, text
    return "unchanged" if resolved == text else "resolved"
