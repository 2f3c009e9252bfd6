"""References to secrets and the properties files that they name: what is there, or an error that quotes none of it; and
never a file outside of the folders that are allowed.
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
from kafka_sql.options.allowed_paths import VARIABLE
from kafka_sql.options.secret_references import has_reference, is_reference, resolve
from tests.fuzz.mutation import lengthen, mutate, mutate_text

OUTSIDE: Final = "outside-4711"
PLANTED: Final = "planted-4711"
_FILE: Final = (
    f"# all of ours\nkey.password = {PLANTED}\nlong : a\\\n  b\n\u00f6\\u0020\u00fc=x\n! more\na\\:b=\\t{PLANTED}\n"
)


def make() -> Callable[[random.Random], str]:
    """A folder that is allowed, beside one that is not, and links between them."""
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
    good = [
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

    def one(rng: random.Random) -> str:
        os.environ[VARIABLE] = str(inside)
        try:
            if rng.random() < 0.5:
                return _reference(rng, good, words)
            properties.write_bytes(mutate(rng, _FILE.encode()))
            key = rng.choice(("key.password", "long", "\u00f6 \u00fc", "a:b", ""))
            return _resolved(f"${{file:{properties}:{key}}}")
        finally:
            del os.environ[VARIABLE]

    return one


def _reference(rng: random.Random, good: list[str], words: tuple[str, ...]) -> str:
    text = mutate_text(rng, rng.choice(good), words)
    if rng.random() < 0.002:
        text = lengthen(rng, text, 20_000)
    is_reference(text)
    found = _resolved(text)
    assert has_reference(text) or found == "as it was"
    return found


def _resolved(text: str) -> str:
    try:
        found = resolve(text, "o")
    except SecretReferenceError as e:
        said = str(e)
        assert OUTSIDE not in said
        assert PLANTED not in said
        return "refused"
    assert OUTSIDE not in found, text
    return "as it was" if found == text else "resolved"
