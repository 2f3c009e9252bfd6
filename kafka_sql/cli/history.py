"""The statements of former shells, in a file that only its owner can read and that holds no secrets."""

from __future__ import annotations

import os
from pathlib import Path

from prompt_toolkit.history import FileHistory

from kafka_sql.cli.masking import mask_secrets


class MaskedHistory(FileHistory):
    """prompt_toolkit's file of statements; the values of secret options are ``******`` in it."""

    def __init__(self, path: Path) -> None:
        """Make the file, or take its rights from all but its owner."""
        handle = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            os.fchmod(handle, 0o600)
        finally:
            os.close(handle)
        super().__init__(str(path))

    def store_string(self, string: str) -> None:
        """Keep a statement."""
        super().store_string(mask_secrets(string))
