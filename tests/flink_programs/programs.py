"""Read Flink's own test programs from its published test jar, with ``FlinkPrograms.java``."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pyspark

from kafka_sql.embedded.java import find_java
from tools.build_jar import download_jars

FLINK: Final = "2.3.0"
_HERE: Final = Path(__file__).parent
_TESTS: Final = f"flink-table-planner_2.12-{FLINK}-tests.jar"
_PRIMARY_KEY: Final = re.compile(
    r"(?:CONSTRAINT\s+\S+\s+)?PRIMARY KEY\s*\((.*)\)\s*(?:NOT ENFORCED)?", re.IGNORECASE | re.DOTALL
)
_KEY_COLUMN: Final = re.compile(r"`?(\w+)`?\s.*?(\s+PRIMARY KEY(?:\s+NOT ENFORCED)?)", re.IGNORECASE | re.DOTALL)

Type = Mapping[str, Any]  # root, nullable, names, children
Row = dict[str, Any]
Change = tuple[str, Row]  # the row kind, as in Flink: +I, -U, +U, -D


@dataclass(frozen=True)
class ProgramTable:
    """A source or a sink of a program."""

    step: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.step["name"])

    @property
    def is_source(self) -> bool:
        return str(self.step["kind"]).startswith("SOURCE")

    @property
    def options(self) -> Mapping[str, str]:
        """The options of the test connector."""
        options: Mapping[str, str] = self.step["options"]
        return options

    @property
    def schema(self) -> list[str]:
        """The declarations of columns and constraints."""
        return list(self.step["schema"])

    @property
    def type(self) -> Type:
        """The type of the columns that the rows have."""
        row_type: Type = self.step["type"]
        return row_type

    @cached_property
    def key(self) -> list[str]:
        """The columns of the primary key; empty without one."""
        for component in self.schema:
            if constraint := _PRIMARY_KEY.fullmatch(component):
                return [name.strip(" `") for name in constraint[1].split(",")]
            if column := _KEY_COLUMN.match(component):
                return [column[1]]
        return []

    def schema_without_key(self) -> list[str]:
        """The declarations without the primary key."""
        components = [c for c in self.schema if not _PRIMARY_KEY.fullmatch(c)]
        return [c.replace(m[2], "") if (m := _KEY_COLUMN.match(c)) else c for c in components]

    @property
    def before(self) -> list[Change]:
        """The changes before the restart."""
        return [(kind, row) for kind, row in self.step["before"]]

    @property
    def after(self) -> list[Change]:
        """The changes after the restart."""
        return [(kind, row) for kind, row in self.step["after"]]

    @property
    def changes(self) -> list[str] | None:
        """The changelog that Flink writes, such as ``+I[1, a]``, if the program has it."""
        return self.step["changes"]

    @property
    def rows(self) -> list[str] | None:
        """The rows that remain after all changes, if the program has them instead of the changelog."""
        return self.step["rows"]


@dataclass(frozen=True)
class Program:
    """A test program of Flink."""

    class_name: str
    name: str
    setup: list[Mapping[str, Any]]
    run: list[Mapping[str, Any]]

    def __str__(self) -> str:
        return f"{self.class_name} {self.name}"

    @property
    def tables(self) -> Iterator[ProgramTable]:
        return (ProgramTable(step) for step in self.setup if "schema" in step)

    @property
    def settings(self) -> dict[str, str]:
        return {step["key"]: step["value"] for step in (*self.setup, *self.run) if step["kind"] == "CONFIG"}

    @property
    def setup_statements(self) -> list[str]:
        return [step["sql"] for step in self.setup if step["kind"] == "SQL"]

    @property
    def uses_processing_time(self) -> bool:
        """Whether rows are compared by the time at which they are processed: in windows, or within an interval."""
        texts = [*self.setup_statements, *self.statements, *(c for table in self.tables for c in table.schema)]
        text = " ".join(texts).upper()
        return "PROCTIME()" in text and "INTERVAL '" in " ".join([*self.setup_statements, *self.statements]).upper()

    @property
    def statements(self) -> list[str]:
        """The INSERT statements that run at the same time."""
        return [sql for step in self.run for sql in (step.get("statements") or [step["sql"]] if has_sql(step) else [])]


def has_sql(step: Mapping[str, Any]) -> bool:
    """Return whether a step runs SQL."""
    return step["kind"] in ("SQL", "STATEMENT_SET")


def read_programs() -> list[Program]:
    """Read all programs, sorted by class and name. The jars (49 MB) are downloaded once."""
    jars = download_jars(_HERE / "jars.lock")
    class_path = os.pathsep.join(map(str, [*jars, Path(pyspark.__file__).with_name("jars") / "*"]))
    (tests,) = (jar for jar in jars if jar.name == _TESTS)
    command = [find_java(), "-Dlog4j.level=OFF", "-XX:TieredStopAtLevel=1", "-cp", class_path]
    command += [str(_HERE / "FlinkPrograms.java"), str(tests)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [Program(p["class"], p["name"], p["setup"], p["run"]) for p in json.loads(done.stdout)]
