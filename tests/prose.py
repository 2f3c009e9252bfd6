"""Find phrases that the house style in CONTRIBUTING rules out: ``python -m tests.prose PATH ...`` lists them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from tests.documents import ROOT

SUFFIXES: Final = (".py", ".md", ".java", ".sql", ".sh", ".toml", ".yml")
_THIS: Final = ("tests/prose.py", "tests/unit/test_prose.py")

# phrase -> what to write instead
REPLACEMENTS: Final = {
    r"told|tells?|telling": "report, raise, log, return, show",
    r"stands?|stood": "is, appears",
    r"go(es)? on|going on|gone on|went on": "continue, resume, retry",
    r"anew": "again, or recreate/reopen/...",
    r"let be": "ignored, left alone",
    r"(cannot|can|could|to|may) be had|to be had": "unavailable, available",
    r"where there (is|are) (none|no|a|an|one)": "if X is missing, if X exists",
    r"mend(ed|s|ing)?": "fix",
    r"nobody|who(ever)? (writes?|reads?|asks?) ": "name the client, user or option",
    r"(a|an|one) ([a-z]+ )?of (its|their|his|one's|your) own": "its own X, a separate X",
    r"without a word": "silently",
    r"as it (is|was) then": "at that time",
    r"all else": "everything else",
    r"by and by": "eventually",
    r"(record|row|task|table|query|partition|batch|process) (a|an) (record|row|task|table|query|second|batch)\b": "per",
    r"gives? (up|back) by itself|by itself pass(es)?": "retriable",
    r"in (its|their|our|java's|flink's|spark's) words": "as X writes it, in X's terms",
}
_PHRASES: Final = re.compile(rf"\b({'|'.join(f'(?:{phrase})' for phrase in REPLACEMENTS)})\b", re.IGNORECASE)
# fine in its usual technical sense
_ALLOWED: Final = re.compile(r"stand(ing)?[- ]?(alone|by|in|ard)|stands? for|tell apart|ftell|\.tell\(", re.IGNORECASE)


def tracked(paths: Iterable[str] = ()) -> list[str]:
    """Return the text files of the repository that contain prose, relative to its root."""
    listing = subprocess.run(["git", "ls-files", *paths], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in listing.splitlines() if name.endswith(SUFFIXES) and name not in _THIS]


def violations(name: str, text: str) -> Iterator[str]:
    """Yield the lines with a phrase to avoid, as ``file:line: phrase: line``."""
    for number, line in enumerate(text.splitlines(), 1):
        for match in _PHRASES.finditer(line):
            around = line[max(0, match.start() - 1) : match.end() + 8]
            if not _ALLOWED.search(around):
                yield f"{name}:{number}: {match[0]!r}: {line.strip()[:140]}"


def main() -> int:
    """Print the violations in the named files and folders, or in all."""
    lines = [v for name in tracked(sys.argv[1:]) for v in violations(name, Path(ROOT, name).read_text("utf-8"))]
    print(*lines, sep="\n")
    print(f"{len(lines)} phrases to rewrite")
    return bool(lines)


if __name__ == "__main__":
    raise SystemExit(main())
