"""One run of Apache Ivy, its progress on stderr, and the reason when it fails."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from kafka_sql.embedded.jar_lockfile import VERSION
from kafka_sql.errors import EmbeddedKafkaError

_ADVICE = (
    "It is downloaded once, which needs the network. Behind a proxy, set JAVA_TOOL_OPTIONS to "
    "-Dhttps.proxyHost=... -Dhttps.proxyPort=...; for a mirror, set KAFKA_SQL_IVY_SETTINGS to the path of "
    "an ivysettings.xml that names it. Then try again."
)


def retrieve(
    java: str,
    ivy: Path,
    settings: Path,
    folder: Path,
    total: int,
    types: Sequence[str] = ("jar", "bundle"),
    pattern: str = "jars/[artifact]-[revision].[ext]",
    name: str = f"Apache Kafka {VERSION}",
) -> None:
    """Fetches what ``ivy.xml`` in the folder asks for into ``jars``; ``cache`` lets a cut-off run go on.

    Args:
        total: how many files are expected, for the progress.
        types: of the artifacts; some jars are OSGi bundles, which Ivy would leave out without a word.
        pattern: where they are put.
        name: what is downloaded, for the progress and the error.

    Raises:
        EmbeddedKafkaError: Ivy did not get them all.
    """
    command = [java, "-jar", str(ivy), "-settings", str(settings), "-ivy", "ivy.xml", "-cache", "cache"]
    command += [
        "-confs",
        "default",
        "-types",
        *types,
        "-retrieve",
        pattern,
    ]
    process = subprocess.Popen(
        command,
        cwd=folder,  # Ivy would read a [ in an absolute path as a pattern
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdout is not None
    try:
        lines = list(show_progress(process.stdout, total, sys.stderr, sys.stderr.isatty(), name))
        status = process.wait()
    finally:
        process.kill()
        process.stdout.close()
        process.wait()
    if status:
        raise EmbeddedKafkaError(f"{name} could not be downloaded: {failure_reason(lines)}. {_ADVICE}")


def show_progress(
    lines: Iterable[str], total: int, out: TextIO, terminal: bool, name: str = f"Apache Kafka {VERSION}"
) -> Iterator[str]:
    """Passes Ivy's lines on and tells of them: on a terminal in one line, rewritten, else in a few plain."""
    began, done, size = time.monotonic(), 0, 0
    before, after = ("\r\x1b[K", "") if terminal else ("", "\n")

    def tell(words: str, end: str = after) -> None:
        print(f"{before}{name}: {words}", end=end, file=out, flush=True)

    tell(f"downloading {total} files, once")
    for line in lines:
        yield line
        if kilobytes := re.search(r"\((\d+)kB\)", line):
            size += int(kilobytes[1])
        if "[SUCCESSFUL ]" in line:
            done += 1
            if terminal or done % 15 == 0:
                tell(f"{done} of {total} files, {size / 1000:.1f} MB")
    tell(f"{done} files, {size / 1000:.1f} MB fetched in {time.monotonic() - began:.0f} s", end="\n")


def failure_reason(lines: Iterable[str]) -> str:
    """The line of Ivy's output that says most about a failure: the network's, else the first missing jar."""
    text = [line.strip(" \t\r\n:") for line in lines]
    for pattern in (
        r"Host .* not found|Server access [Ee]rror|access to .* was refused|(?i:exception|timed? ?out)",
        r"not found|FAILED",
        r".",
    ):
        for line in text:
            if re.search(pattern, line):
                return line.removeprefix("WARN").strip(" :.")
    return "Ivy ended without a word"
