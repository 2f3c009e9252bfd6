"""Run Apache Ivy, show its progress on stderr, and report why it failed."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from kafka_sql.errors import EmbeddedKafkaError

_MAX_SECONDS = 3600.0
_ADVICE = (
    "The first start needs a network connection to download it. Behind a proxy, set JAVA_TOOL_OPTIONS to "
    "-Dhttps.proxyHost=... -Dhttps.proxyPort=...; for a mirror, set KAFKA_SQL_IVY_SETTINGS to the path of "
    "an ivysettings.xml that names it. Then try again."
)


def retrieve(
    java: str,
    ivy: Path,
    settings: Path,
    folder: Path,
    total: int,
    name: str,
    types: Sequence[str] = ("jar", "bundle"),
    pattern: str = "jars/[artifact]-[revision].[ext]",
) -> None:
    """Download the artifacts of ``ivy.xml`` in the folder to ``jars``, resuming an interrupted download from ``cache``.

    Args:
        folder: working directory, with ``ivy.xml``.
        types: artifact types. Some jars are OSGi bundles, which Ivy would otherwise skip silently.
        pattern: Ivy pattern of the destination.

    Raises:
        EmbeddedKafkaError: an artifact could not be downloaded.
    """
    command = [java, "-jar", str(ivy), "-settings", str(settings), "-ivy", "ivy.xml", "-cache", "cache"]
    command += ["-confs", "default", "-types", *types, "-retrieve", pattern]
    process = subprocess.Popen(
        command,
        cwd=folder,  # Ivy would interpret a [ in an absolute path as a pattern
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdout is not None
    start = time.monotonic()
    # Ivy never times out if the repository sends a byte now and then
    timer = threading.Timer(_MAX_SECONDS, process.kill)
    timer.daemon = True
    timer.start()
    try:
        lines = list(show_progress(process.stdout, total, sys.stderr, sys.stderr.isatty(), name))
        status = process.wait()
    finally:
        timer.cancel()
        process.kill()
        process.stdout.close()
        process.wait()
    if status:
        is_timeout = time.monotonic() - start > _MAX_SECONDS
        reason = f"it took more than {_MAX_SECONDS:g} s" if is_timeout else failure_reason(lines)
        raise EmbeddedKafkaError(f"{name} could not be downloaded: {reason}. {_ADVICE}")


def show_progress(lines: Iterable[str], total: int, out: TextIO, terminal: bool, name: str) -> Iterator[str]:
    """Yield Ivy's output and print progress: in one updated line on a terminal, otherwise a few lines."""
    start, downloaded, kilobytes = time.monotonic(), 0, 0
    line_start, line_end = ("\r\x1b[K", "") if terminal else ("", "\n")

    def report(message: str, end: str = line_end) -> None:
        print(f"{line_start}{name}: {message}", end=end, file=out, flush=True)

    report(f"downloading {total} files (only once)")
    for line in lines:
        yield line
        if size := re.search(r"\((\d+)kB\)", line):
            kilobytes += int(size[1])
        if "[SUCCESSFUL ]" in line:
            downloaded += 1
            if terminal or downloaded % 15 == 0:
                report(f"{downloaded} of {total} files, {kilobytes / 1000:.1f} MB")
    seconds = time.monotonic() - start
    report(f"{downloaded} files, {kilobytes / 1000:.1f} MB downloaded in {seconds:.0f} s", end="\n")


def failure_reason(lines: Iterable[str]) -> str:
    """Return the most informative line of Ivy's output about a failure: a network error, or else a missing jar."""
    stripped = [line.strip(" \t\r\n:") for line in lines]
    for pattern in (
        r"Host .* not found|Server access [Ee]rror|access to .* was refused|(?i:exception|timed? ?out)",
        r"not found|FAILED",
        r".",
    ):
        for line in stripped:
            if re.search(pattern, line):
                return line.removeprefix("WARN").strip(" :.")
    return "Ivy printed no error"
