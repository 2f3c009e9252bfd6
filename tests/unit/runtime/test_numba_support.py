"""Where the compiled loops are kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kafka_sql.runtime.numba_support import private_folder

PROGRAM = """
from kafka_sql.runtime.numba_support import compiled
from kafka_sql.formats.confluent import kernels
import numba
print(numba.config.CACHE_DIR)
"""


@pytest.mark.large
def test_an_executor_without_a_home_keeps_them_in_a_folder_of_its_own(tmp_path: Path) -> None:
    locators = {"NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator", "TMPDIR": str(tmp_path)}
    environment = {**os.environ, **locators}  # numba finds no place: neither the module's folder nor the user's counts
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == f"{tmp_path}/kafka_sql-{os.getuid()}\n"


def test_a_folder_that_others_can_write_is_not_taken(tmp_path: Path) -> None:
    found = private_folder(str(tmp_path))
    assert found is not None
    assert os.stat(found).st_mode & 0o777 == 0o700
    assert private_folder(str(tmp_path)) == found
    os.chmod(found, 0o770)
    assert private_folder(str(tmp_path)) is None


def test_a_link_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir(0o700)
    (tmp_path / f"kafka_sql-{os.getuid()}").symlink_to(tmp_path / "elsewhere")
    assert private_folder(str(tmp_path)) is None


def test_no_folder_at_all(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert private_folder(str(tmp_path / "file")) is None
