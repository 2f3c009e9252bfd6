"""Compile .proto files to descriptors, with the protoc that grpcio-tools contains."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from google.protobuf.descriptor_pb2 import FileDescriptorProto

from kafka_sql.formats.protobuf import descriptors
from kafka_sql.options import allow_lists

_TIMEOUT: Final = 120.0  # seconds
_MAX_FILES: Final = 1000
_COMMENT_OR_STRING: Final = re.compile(r"""//[^\n]*|/\*.*?\*/|("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')""", re.DOTALL)
_IMPORT: Final = re.compile(r"""\bimport\s+(?:public\s+|weak\s+)?["']([^"'\\\n]+)["']\s*;""")

Texts = tuple[tuple[str, str], ...]  # names, as in import statements, and contents


def read_files(path: str, folders: Sequence[str]) -> tuple[str, Texts]:
    """Return the name of a .proto file, and the names and contents of it and of all files that it imports.

    Args:
        path: the file.
        folders: where to look up imported files; by default the file's folder. The name is relative to the first of
            them that contains the file.

    Raises:
        OSError: a file cannot be read, or is not in an allowed folder.
        ValueError: a file is not UTF-8, or there are more than 1000; the message continues a sentence about the file.
    """
    main = Path(path).expanduser()
    roots = [Path(folder).expanduser() for folder in folders] or [main.parent]
    root = next((root for root in roots if main.resolve().is_relative_to(root.resolve())), main.parent)
    name = main.resolve().relative_to(root.resolve()).as_posix()
    texts = {name: _read(main)}
    pending = _imports(texts[name])
    while pending:
        imported = pending.pop()
        file = next((root / imported for root in roots if (root / imported).is_file()), None)
        if imported in texts or file is None:  # protoc has Google's files, and reports the ones that are missing
            continue
        if len(texts) == _MAX_FILES:
            raise ValueError(f"imports more than {_MAX_FILES} files")
        texts[imported] = _read(file)
        pending += _imports(texts[imported])
    return name, tuple(texts.items())


def _read(file: Path) -> str:
    try:
        return allow_lists.read_allowed(file).decode()
    except UnicodeDecodeError as e:
        raise ValueError(f"is not a .proto file: {file.name} is not UTF-8") from e


def _imports(text: str) -> list[str]:
    return _IMPORT.findall(_COMMENT_OR_STRING.sub(lambda match: match[1] or " ", text))


@lru_cache(maxsize=256)
def run_protoc(texts: Texts, main: str) -> list[FileDescriptorProto]:
    """Return the descriptors of a .proto file and of all files that it imports.

    Args:
        texts: the names and contents of the files.
        main: the name of the file to compile.

    Raises:
        ValueError: a file is invalid, or grpcio-tools is not installed; the message continues a sentence about the
            file.
    """
    if main.startswith("-"):
        raise ValueError(f"has the name '{main}', which protoc would take for an option")
    package = importlib.util.find_spec("grpc_tools")
    if package is None or package.origin is None:
        raise ValueError("needs protoc, which is not installed here (pip install 'kafka-sql[protoc]')")
    # with spark-submit --archives, Python would not find the package itself
    environment = {"PATH": "", "PYTHONPATH": str(Path(package.origin).parents[1])}
    with tempfile.TemporaryDirectory() as folder:
        for name, text in texts:
            _write_source(Path(folder, "in").resolve(), name, text)
        output = Path(folder, "out")
        try:
            process = subprocess.run(
                [sys.executable, "-W", "ignore", "-m", "grpc_tools.protoc", f"-I{Path(folder, 'in').resolve()}",
                 "--include_imports", f"--descriptor_set_out={output}", main],
                capture_output=True, text=True, timeout=_TIMEOUT, check=False, env=environment,
                cwd=folder,  # with -m, Python would also import modules in the current folder
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise ValueError(f"takes protoc more than {_TIMEOUT:g} s to compile") from None
        if process.returncode:
            message = "; ".join(line for line in process.stderr.splitlines() if "warning:" not in line.lower())
            raise ValueError(f"is rejected by protoc: {message}")
        return descriptors.parse_descriptor_file(output.read_bytes())


def _write_source(folder: Path, name: str, text: str) -> None:
    path = folder / name
    if path.resolve() == folder or not path.resolve().is_relative_to(folder):
        raise ValueError(f"refers to '{name}', which is not a file name")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8", newline="")
    except OSError as e:  # for example, the name is too long, or another file's folder
        raise ValueError(f"refers to '{name}', which is not a file name ({e.strerror})") from None
