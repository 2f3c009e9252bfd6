"""Find the Java that runs the broker, in the same way as PySpark, and check its version."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from kafka_sql.errors import EmbeddedKafkaError

MIN_VERSION = 17  # required by both PySpark 4 and Kafka 4

_INSTALL = (
    f"Install Java {MIN_VERSION} or newer (Debian, Ubuntu: sudo apt install openjdk-21-jre-headless or "
    "openjdk-17-jre-headless; macOS: brew install --cask temurin@21) or set JAVA_HOME to its folder."
)


def find_java(environ: Mapping[str, str] = os.environ) -> str:
    """Return the path of ``java``: in JAVA_HOME if it is set, or else on PATH, as PySpark does.

    Raises:
        EmbeddedKafkaError: Java was not found, does not run, or is older than MIN_VERSION.
    """
    home, java = environ.get("JAVA_HOME"), locate_java(environ)
    if java is None:
        raise EmbeddedKafkaError(f"Java was not found on PATH, and JAVA_HOME is not set. {_INSTALL}")
    origin = f"{java} (from JAVA_HOME)" if home else java
    try:
        result = subprocess.run(
            [java, "-version"], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )
    except OSError as error:
        raise EmbeddedKafkaError(f"Java does not run: {origin}: {error.strerror}. {_INSTALL}") from error
    version = major_version(result.stderr + result.stdout)
    # on macOS, /usr/bin/java may be a stub that only prints that Java is missing
    if result.returncode or version is None:
        raise EmbeddedKafkaError(f"Java does not run: {origin} -version failed. {_INSTALL}")
    if version < MIN_VERSION:
        raise EmbeddedKafkaError(f"Java {version} is too old: {origin}. {_INSTALL}")
    return java


def locate_java(environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the path of ``java``, which may not exist or not run; None if JAVA_HOME is not set and PATH has none."""
    home = environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else shutil.which("java", path=environ.get("PATH"))


def major_version(text: str) -> int | None:
    """Return the major version in the output of ``java -version``: 17 for 17.0.15, 8 for 1.8.0_402; None if missing."""
    match = re.search(r'\bversion "(?:1\.)?(\d+)', text)
    return int(match[1]) if match else None
