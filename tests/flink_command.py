"""Start programs in Java that use Flink 2.3. Its jars (150 MB) are downloaded once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from kafka_sql.embedded.java import find_java
from tools.build_jar import download_jars

LOCKFILE: Final = Path(__file__).with_name("flink.lock")
# packages that Flink's scripts open on Java 17
_OPENED: Final = ("java.base/java.lang", "java.base/java.util", "java.base/java.util.concurrent", "java.base/java.net")


def flink_command(program: Path, *arguments: str) -> list[str]:
    """Return the command that compiles and runs a source file with Flink in its class path."""
    class_path = os.pathsep.join(map(str, download_jars(LOCKFILE)))
    options = ["-Xmx2g", "-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=240m", "-Dlog4j.level=OFF"]
    options += [f"--add-opens={package}=ALL-UNNAMED" for package in _OPENED]
    return [find_java(), *options, "-cp", class_path, str(program), *arguments]
