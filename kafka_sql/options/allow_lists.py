"""Restrict what options may use to the lists in environment variables: files, modules, variables and URLs.

The operator of the process sets the variables, not the author of the statement. They are read where a value is used,
on the driver and on executors. If one of them is set, the others allow nothing unless they are set, too: an
operator who restricts files, for example, must not leave modules unrestricted by mistake.
"""

from __future__ import annotations

import os
from fnmatch import fnmatchcase
from typing import Final

PATHS: Final = "KAFKA_SQL_ALLOWED_PATHS"
MODULES: Final = "KAFKA_SQL_ALLOWED_MODULES"
VARIABLES: Final = "KAFKA_SQL_ALLOWED_VARIABLES"
URLS: Final = "KAFKA_SQL_ALLOWED_URLS"
ALLOW_LISTS: Final = (PATHS, MODULES, VARIABLES, URLS)


def allowed_entries(variable: str) -> list[str] | None:
    """Return the entries of one of the variables; None if none of them is set, so that everything is allowed."""
    if not any(name in os.environ for name in ALLOW_LISTS):
        return None
    separator = os.pathsep if variable == PATHS else ","
    return [entry.strip() for entry in os.environ.get(variable, "").split(separator) if entry.strip()]


def is_allowed_module(name: str) -> bool:
    """Return whether options may import a module: it is listed, or is in a listed package."""
    entries = allowed_entries(MODULES)
    return entries is None or any(name == entry or name.startswith(f"{entry}.") for entry in entries)


def is_allowed_variable(name: str) -> bool:
    """Return whether options may read an environment variable: it is listed, or matches an entry with ``*``."""
    entries = allowed_entries(VARIABLES)
    return entries is None or any(fnmatchcase(name, entry) for entry in entries)


def is_allowed_url(url: str) -> bool:
    """Return whether options may name a URL: it is listed in the same spelling, except for a slash at the end.

    Like ``org.apache.kafka.sasl.oauthbearer.allowed.urls`` of Kafka's clients, this compares the text: clients
    interpret unusual URLs differently.
    """
    entries = allowed_entries(URLS)
    return entries is None or url.rstrip("/") in (entry.rstrip("/") for entry in entries)
