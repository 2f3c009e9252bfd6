"""Read from librdkafka's configuration how long to wait before a retry."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Backoff:
    """How long to wait before a retry, in seconds. The wait doubles with each failure, and varies by a fifth."""

    first: float
    longest: float

    def seconds(self, failures: int) -> float:
        """Return the wait after so many failures in a row."""
        return min(self.first * 2.0 ** min(failures - 1, 30), self.longest) * random.uniform(0.8, 1.2)


def backoff_setting(config: Mapping[str, str], key: str, first_ms: int, longest_ms: int) -> Backoff:
    """Return the setting of ``key`` with the suffixes ``.ms`` and ``.max.ms``."""
    first, longest = (int(config.get(f"{key}{end}", ms)) for end, ms in ((".ms", first_ms), (".max.ms", longest_ms)))
    return Backoff(first / 1000, longest / 1000)
