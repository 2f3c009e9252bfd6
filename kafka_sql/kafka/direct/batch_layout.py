"""The parts of a record batch, in bytes: https://kafka.apache.org/documentation/#recordbatch."""

from __future__ import annotations

from typing import Final

HEADER: Final = 61  # before the first record
CHECKED: Final = 21  # before the part that the checksum covers
UNCOUNTED: Final = 12  # at the start; the batch length does not include them
