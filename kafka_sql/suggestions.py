"""Suggest the valid name that is most similar to a misspelled one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def find_similar_name(name: str, valid_names: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the valid name that is most similar to a misspelled one; None below the cutoff (1 is the same name)."""
    return next(iter(difflib.get_close_matches(name, list(valid_names), n=1, cutoff=cutoff)), None)


def did_you_mean(name: str, valid_names: Iterable[str]) -> str:
    """Return a sentence that suggests the most similar valid name, with a leading space; empty if none is similar."""
    similar_name = find_similar_name(name, valid_names)
    return f" Did you mean '{similar_name}'?" if similar_name else ""
