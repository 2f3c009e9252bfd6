"""Test tools/install.sh, with a stub of Python that prints the commands it is called with."""

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "tools/install.sh"
UV = "-m pip --disable-pip-version-check install --quiet uv"
PIP = "-m pip --disable-pip-version-check install --editable .[dev]"


def install(folder: Path, configuration: str = "", failing_command: str = "nothing") -> tuple[int, list[str]]:
    """Return the exit status and the commands that install something.

    Args:
        folder: where the stub is created.
        configuration: output of ``pip config list``.
        failing_command: shell pattern of the commands that fail.
    """
    python = folder / "python"
    python.write_text(
        f"""#!/bin/sh
        case "$*" in
            *"config list") echo "{configuration}" ;;
            {failing_command}) echo "$@"; exit 1 ;;
            *) echo "$@" ;;
        esac"""
    )
    python.chmod(0o755)
    command = ["/bin/sh", str(SCRIPT), str(python), "--editable", ".[dev]"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.stderr == ""
    return result.returncode, result.stdout.replace(str(python), "PYTHON").splitlines()


@pytest.mark.parametrize("configuration", ["", "global.cert='/etc/ssl/certs/ca.pem'"])
def test_uv_installs(tmp_path: Path, configuration: str) -> None:
    install_with_uv = "-m uv pip install --python PYTHON --editable .[dev]"
    assert install(tmp_path, configuration) == (0, [UV, install_with_uv])


@pytest.mark.parametrize(
    "configuration",
    ["global.index-url='https://mirror/simple'", ":env:.extra-index-url='https://mirror'", ":env:.no-index='1'"],
)
def test_pip_installs_from_a_configured_index(tmp_path: Path, configuration: str) -> None:
    assert install(tmp_path, configuration) == (0, [PIP])


def test_pip_installs_if_uv_cannot_be_installed(tmp_path: Path) -> None:
    assert install(tmp_path, failing_command='*"install --quiet uv"') == (0, [UV, PIP])


def test_pip_installs_if_uv_fails(tmp_path: Path) -> None:
    status, commands = install(tmp_path, failing_command='"-m uv"*')
    assert (status, commands[0], commands[-1]) == (0, UV, PIP)


def test_a_failure_of_pip_is_a_failure(tmp_path: Path) -> None:
    assert install(tmp_path, failing_command="*install*")[0] == 1
