"""How many examples a property test tries: what it asks for in ``make test``, a few in ``make test-unit``."""

from __future__ import annotations

from typing import Final

import hypothesis

_USUAL: Final = 100  # Hypothesis' own


def profiles() -> None:
    """Make the profiles, and load that of ``make test``."""
    # how long an example takes says how busy the machine is, and nothing about the code
    late = [hypothesis.HealthCheck.too_slow]
    hypothesis.settings.register_profile("all", deadline=None, suppress_health_check=late, max_examples=_USUAL)
    hypothesis.settings.register_profile("few", deadline=None, suppress_health_check=late, max_examples=10)
    hypothesis.settings.load_profile("all")


def examples(count: int) -> hypothesis.settings:
    """A decorator: as many examples, where the profile is not one of few."""
    asked = hypothesis.settings().max_examples
    return hypothesis.settings(max_examples=count if asked >= _USUAL else asked)
