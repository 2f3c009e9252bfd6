"""Test tools/preflight.sh, with only stub executables on PATH."""

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools/preflight.sh"
ADVICE_PYTHON = "install it (Debian, Ubuntu: sudo apt install python3 python3-venv; macOS: brew install python)"
ADVICE_JAVA = "(Debian, Ubuntu: sudo apt install openjdk-21-jre-headless or openjdk-17-jre-headless; macOS: brew "


def stub(folder: Path, name: str, script: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def python_stub(folder: Path, version: str, venv: bool = True, name: str = "python3") -> None:
    stub(folder, name, f"case $2 in *version_info*) echo {version} ;; *) exit {0 if venv else 1} ;; esac")


def java_stub(folder: Path, version: str, status: int = 0) -> None:
    stub(folder, "java", f"echo '{version}' >&2; exit {status}")


def preflight(path: Path, *requirements: str, **environ: str) -> tuple[int, str]:
    """Check requirements (``python``, ``java``), and return the exit status and stderr."""
    command = ["/bin/sh", str(SCRIPT), *requirements]
    result = subprocess.run(command, env={"PATH": str(path), **environ}, capture_output=True, text=True, check=False)
    assert result.stdout == ""
    assert result.stderr.count("\n") == (1 if result.returncode else 0)  # one sentence, or nothing
    return result.returncode, result.stderr


@pytest.mark.parametrize("python", ["3.10", "3.14", "4.0"])
@pytest.mark.parametrize("java", ['openjdk version "17.0.15" 2025-04-15', 'openjdk version "26-ea" 2026-03-17'])
def test_nothing_is_missing(tmp_path: Path, python: str, java: str) -> None:
    python_stub(tmp_path, python)
    java_stub(tmp_path, f"Picked up JAVA_TOOL_OPTIONS: -Da=b\n{java}")
    assert preflight(tmp_path, "python", "java") == (0, "")


def test_no_python(tmp_path: Path) -> None:
    status, message = preflight(tmp_path, "python")
    assert status == 1
    assert message.startswith(f"Python 3.10 or newer is needed, but 'python3' is not on PATH: {ADVICE_PYTHON}")


@pytest.mark.parametrize("version", ["2.7", "3.8", "3.9"])
def test_python_too_old(tmp_path: Path, version: str) -> None:
    python_stub(tmp_path, version)
    status, message = preflight(tmp_path, "python")
    assert status == 1
    assert message.startswith(f"Python 3.10 or newer is needed, but 'python3' is {version}: {ADVICE_PYTHON}")


def test_python_that_does_not_run(tmp_path: Path) -> None:
    stub(tmp_path, "python3", "exit 9")  # like the stubs of macOS and of version managers
    status, message = preflight(tmp_path, "python")
    assert status == 1
    assert "'python3' does not run" in message


def test_another_python_interpreter(tmp_path: Path) -> None:
    python_stub(tmp_path, "3.8")
    python_stub(tmp_path, "3.12", name="python3.12")
    assert preflight(tmp_path, "python", PYTHON="python3.12") == (0, "")


def test_no_venv(tmp_path: Path) -> None:
    python_stub(tmp_path, "3.11", venv=False)
    status, message = preflight(tmp_path, "python")
    assert status == 1
    assert message.startswith("Python's modules venv and ensurepip are needed, but 'python3' lacks them")
    assert "sudo apt install python3.11-venv" in message


def test_no_java(tmp_path: Path) -> None:
    status, message = preflight(tmp_path, "java")
    assert status == 1
    assert message.startswith("Java 17 or newer is needed, but 'java' is not on PATH: install it ")
    assert ADVICE_JAVA in message


@pytest.mark.parametrize(
    ("output", "version"),
    [('openjdk version "11.0.2" 2019', "11"), ('java version "1.8.0_402"', "8"), ("hello", "of unknown version")],
)
def test_java_too_old(tmp_path: Path, output: str, version: str) -> None:
    java_stub(tmp_path, output)
    status, message = preflight(tmp_path, "java")
    assert status == 1
    assert message.startswith(f"Java 17 or newer is needed, but 'java' is Java {version}: install it ")


def test_java_that_does_not_run(tmp_path: Path) -> None:
    java_stub(tmp_path, "Unable to locate a Java Runtime.", status=1)
    status, message = preflight(tmp_path, "java")
    assert status == 1
    assert message.startswith("Java 17 or newer is needed, but 'java' does not run: install it ")


def test_java_home_takes_precedence(tmp_path: Path) -> None:
    java_stub(tmp_path / "path", 'openjdk version "11"')
    java_stub(tmp_path / "home/bin", 'openjdk version "21.0.1"')
    assert preflight(tmp_path / "path", "java", JAVA_HOME=str(tmp_path / "home")) == (0, "")


def test_wrong_java_home(tmp_path: Path) -> None:
    java_stub(tmp_path, 'openjdk version "21.0.1"')
    status, message = preflight(tmp_path, "java", JAVA_HOME="/none")
    assert status == 1
    assert "'/none/bin/java' (from JAVA_HOME) does not exist" in message
