"""Read and check the lockfile, which pins the jars of Apache Kafka by SHA-256."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import NamedTuple

KAFKA_VERSION = "4.3.1"
LOCKFILE = Path(__file__).with_name(f"kafka-{KAFKA_VERSION}.lock")


class Jar(NamedTuple):
    """A Maven artifact and its checksum."""

    group: str
    artifact: str
    revision: str
    sha256: str

    @property
    def file(self) -> str:
        """Name of the file."""
        return f"{self.artifact}-{self.revision}.jar"


def read_lockfile(path: Path = LOCKFILE) -> list[Jar]:
    """Return the jars of a lockfile. Lines are ``group:artifact:revision sha256``; ``#`` starts a comment line."""
    jars = []
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            group, artifact, revision, sha256 = re.split("[: ]", line)
            jars.append(Jar(group, artifact, revision, sha256))
    return jars


def ivy_module(jars: list[Jar]) -> str:
    """Return an ivy.xml with exactly these jars, without transitive dependencies."""
    dependencies = "\n".join(
        f'    <dependency org="{jar.group}" name="{jar.artifact}" rev="{jar.revision}" transitive="false"/>'
        for jar in jars
    )
    return f"""<ivy-module version="2.0">
  <info organisation="kafka_sql" module="embedded"/>
  <configurations><conf name="default"/></configurations>
  <dependencies defaultconfmapping="default->default">
{dependencies}
  </dependencies>
</ivy-module>
"""


def find_differences(folder: Path, jars: list[Jar]) -> list[str]:
    """Return how the folder differs from the lockfile in names and content; an empty list if it does not."""
    files = {path.name: path for path in folder.iterdir()} if folder.is_dir() else {}
    errors = []
    for jar in jars:
        path = files.pop(jar.file, None)
        if path is None:
            errors.append(f"{jar.file} is missing")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != jar.sha256:
            errors.append(f"{jar.file} does not match the SHA-256 in the lockfile")
    return errors + [f"{name} is not in the lockfile" for name in sorted(files)]
