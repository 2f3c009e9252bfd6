"""The lock file: which jars make Apache Kafka, to the byte."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import NamedTuple

VERSION = "4.3.1"
LOCKFILE = Path(__file__).with_name(f"kafka-{VERSION}.lock")


class Jar(NamedTuple):
    group: str
    artifact: str
    revision: str
    sha256: str

    @property
    def file(self) -> str:
        return f"{self.artifact}-{self.revision}.jar"


def read_lockfile(path: Path = LOCKFILE) -> list[Jar]:
    """The jars of a lock file: a line is ``group:artifact:revision sha256``, ``#`` starts a comment line."""
    jars = []
    for line in path.read_text().splitlines():
        if line and not line.startswith("#"):
            group, artifact, revision, sha256 = re.split("[: ]", line)
            jars.append(Jar(group, artifact, revision, sha256))
    return jars


def ivy_module(jars: list[Jar]) -> str:
    """An ivy.xml that asks for exactly these jars; nothing is resolved transitively."""
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


def is_complete(folder: Path, jars: list[Jar]) -> bool:
    """Whether the folder has exactly the locked files; quick, by name."""
    return folder.is_dir() and {path.name for path in folder.iterdir()} == {jar.file for jar in jars}


def differences(folder: Path, jars: list[Jar]) -> list[str]:
    """How the folder differs from the lock, by name and by content; empty when it does not."""
    found = {path.name: path for path in folder.iterdir()} if folder.is_dir() else {}
    wrong = []
    for jar in jars:
        path = found.pop(jar.file, None)
        if path is None:
            wrong.append(f"{jar.file} is missing")
        elif hashlib.sha256(path.read_bytes()).hexdigest() != jar.sha256:
            wrong.append(f"{jar.file} has another content (SHA-256) than the locked one")
    return wrong + [f"{name} is not in the lock file" for name in sorted(found)]
