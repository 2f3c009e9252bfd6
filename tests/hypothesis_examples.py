"""Set the number of examples of property tests: all in ``make proofs``, a few in ``make test`` and ``test-unit``."""

from __future__ import annotations

from typing import Final

import hypothesis

_DEFAULT: Final = 100  # of Hypothesis


def register_profiles() -> None:
    """Register the profiles, and load the one with all examples."""
    # the duration of an example depends on the load of the machine, not on the code
    slow = [hypothesis.HealthCheck.too_slow]
    hypothesis.settings.register_profile("all", deadline=None, suppress_health_check=slow, max_examples=_DEFAULT)
    hypothesis.settings.register_profile("few", deadline=None, suppress_health_check=slow, max_examples=10)
    hypothesis.settings.load_profile("all")


def examples(count: int) -> hypothesis.settings:
    """Return a decorator for ``count`` examples, unless the profile is for few."""
    maximum = hypothesis.settings().max_examples
    return hypothesis.settings(max_examples=count if maximum >= _DEFAULT else maximum)
