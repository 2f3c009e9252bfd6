"""Schemas are compiled by the installed protoc, and cannot name files outside of its folder."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from kafka_sql.formats.protobuf_confluent.schema_descriptors import compile_schema
from tests.documents import ROOT

SCHEMA = 'syntax = "proto3"; message M {{ int32 {field} = 1; }}'


def test_modules_in_the_current_folder_are_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("grpc_tools/__init__.py", "grpc_tools/protoc.py", "google/__init__.py"):
        (tmp_path / module).parent.mkdir(exist_ok=True)
        (tmp_path / module).write_text(f"open({str(tmp_path / 'planted')!r}, 'w').close()")
    monkeypatch.chdir(tmp_path)
    schema = compile_schema(SCHEMA.format(field="not_from_the_current_folder"))
    assert [f.name for f in schema.message_types_by_name["M"].fields] == ["not_from_the_current_folder"]
    assert not (tmp_path / "planted").exists()


def test_a_schema_does_not_become_a_module() -> None:
    references = (("grpc_tools/__init__.py", "import sys; sys.exit(5)"), ("in/sys.py", ""))
    assert compile_schema(SCHEMA.format(field="a"), references).message_types_by_name.keys() == ["M"]


@pytest.mark.parametrize("name", ["../a.proto", "/tmp/a.proto", "a/../../b.proto", "..", ".", "", "a\0b", "a" * 300])
def test_names_of_references_outside_of_the_folder(name: str) -> None:
    with pytest.raises(ValueError, match=r"is not a file name|embedded null"):
        compile_schema(SCHEMA.format(field="b"), ((name, SCHEMA.format(field="c")),))


def test_imports_of_files_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "secret.proto").write_text(SCHEMA.format(field="secret"))
    with pytest.raises(ValueError, match=r"is rejected by protoc: .*not found"):
        compile_schema(f'syntax = "proto3"; import "{tmp_path}/secret.proto"; message M {{}}')


def test_packages_outside_of_the_python_installation() -> None:
    base_python = getattr(sys, "_base_executable", sys.executable)  # without the packages of the virtual environment
    program = f"import {compile_schema.__module__} as m; print(m.compile_schema({SCHEMA.format(field='a')!r}).name)"
    path = os.pathsep.join([sysconfig.get_path("platlib"), str(ROOT)])
    command = [base_python, "-c", program]
    done = subprocess.run(command, env={"PYTHONPATH": path}, capture_output=True, text=True, check=False)
    assert done.stdout == "kafka_sql_schema.proto\n", done.stderr
