"""The Java that runs the broker: the one PySpark would take, and new enough."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

from kafka_sql.errors import EmbeddedKafkaError

OLDEST = 17  # of PySpark 4 as of Kafka 4

_INSTALL = (
    f"Install Java {OLDEST} or newer (Debian, Ubuntu: sudo apt install openjdk-17-jre-headless, or -21- on "
    "newer releases; macOS: brew install --cask temurin@21) or set JAVA_HOME to where it is."
)


def find_java(environ: Mapping[str, str] = os.environ) -> str:
    """The path of ``java``: that of JAVA_HOME where it is set, else the first on PATH, as PySpark does.

    Raises:
        EmbeddedKafkaError: there is none, it does not run, or it is older than OLDEST.
    """
    home = environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else shutil.which("java", path=environ.get("PATH"))
    if java is None:
        raise EmbeddedKafkaError(f"Java was not found on PATH, and JAVA_HOME is not set. {_INSTALL}")
    origin = f"{java} (from JAVA_HOME)" if home else java
    try:
        answer = subprocess.run(
            [java, "-version"], capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
        )
    except OSError as error:
        raise EmbeddedKafkaError(f"Java does not run: {origin}: {error.strerror}. {_INSTALL}") from error
    version = major_version(answer.stderr + answer.stdout)
    if answer.returncode or version is None:  # macOS has a /usr/bin/java that only says that there is no Java
        raise EmbeddedKafkaError(f"Java does not run: {origin} -version failed. {_INSTALL}")
    if version < OLDEST:
        raise EmbeddedKafkaError(f"Java {version} is too old: {origin}. {_INSTALL}")
    return java


def major_version(text: str) -> int | None:
    """17 for what ``java -version`` prints of 17.0.15, 8 of 1.8.0_402; None where no version is named."""
    found = re.search(r'\bversion "(?:1\.)?(\d+)', text)
    return int(found[1]) if found else None
