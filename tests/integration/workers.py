"""Find the Python workers of this process's Spark, and measure their peak memory."""

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
        except OSError:  # the process has exited
            continue
        if b"pyspark.daemon" in command and _descends_from(int(folder.name), os.getpid()):
            folders.append(folder)
    return folders


def reset_peaks() -> None:
    """Reset the workers' peak resident memory (VmHWM) to the current value; see clear_refs in proc(5)."""
    for folder in workers():
        (folder / "clear_refs").write_text("5")


def peak_megabytes() -> float:
    """Return the largest peak of a worker since ``reset_peaks``."""
    peaks = [re.search(r"VmHWM:\s+(\d+) kB", (folder / "status").read_text()) for folder in workers()]
    return max(int(match[1]) for match in peaks if match) / 1024


def _descends_from(process: int, ancestor: int) -> bool:
    while process > 1:
        if process == ancestor:
            return True
        try:
            stat = Path(f"/proc/{process}/stat").read_text()
        except OSError:
            return False
        process = int(stat.rsplit(")", 1)[1].split()[1])
    return False
