"""Store the shell's history in a file that only its owner can read, with secrets masked."""

from __future__ import annotations

import os
from pathlib import Path

from prompt_toolkit.history import FileHistory

from kafka_sql.statement_masking import mask_statement


class MaskedHistory(FileHistory):
    """prompt_toolkit's history file, with the values of secret options replaced by ``******``."""

    def __init__(self, path: Path) -> None:
        """Create the file, or restrict an existing one to its owner."""
        descriptor = os.open(path, os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            os.fchmod(descriptor, 0o600)
        finally:
            os.close(descriptor)
        super().__init__(str(path))

    def store_string(self, string: str) -> None:
        """Append a statement."""
        super().store_string(mask_statement(string))
