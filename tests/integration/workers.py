"""The Python workers of this process's Spark, and what memory they took at most."""

from __future__ import annotations

import os
import re
from pathlib import Path


def workers() -> list[Path]:
    """Return the folders under /proc of Spark's worker daemons and workers that descend from this process."""
    folders = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
        except OSError:  # it has ended
            continue
        if b"pyspark.daemon" in command and _below(int(folder.name), os.getpid()):
            folders.append(folder)
    return folders


def forget_peaks() -> None:
    """Let the kernel count from the present memory on (proc(5), clear_refs)."""
    for folder in workers():
        (folder / "clear_refs").write_text("5")


def peak_megabytes() -> float:
    """The largest resident memory that one of them had since ``forget_peaks``."""
    peaks = [re.search(r"VmHWM:\s+(\d+) kB", (folder / "status").read_text()) for folder in workers()]
    return max(int(match[1]) for match in peaks if match) / 1024


def _below(process: int, ancestor: int) -> bool:
    while process > 1:
        if process == ancestor:
            return True
        try:
            stat = Path(f"/proc/{process}/stat").read_text()
        except OSError:
            return False
        process = int(stat.rsplit(")", 1)[1].split()[1])
    return False
