"""Read files and import functions that options name, if the lists in environment variables allow it.

There are lists of folders, modules, variables and URLs. The operator of the process sets them, not the author of the
statement. They are read where a value is used, on the driver and on executors. If one of them is set, the others allow
nothing unless they are set, too: an operator who restricts files must not leave modules unrestricted by mistake.
"""

from __future__ import annotations

import importlib
import os
import stat
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

from kafka_sql.errors import InvalidOptionError
from kafka_sql.options.secrets import mask_user_info

PATHS: Final = "KAFKA_SQL_ALLOWED_PATHS"  # folders, like allowed.paths of Kafka's config providers (KIP-993)
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


def import_callable(option: str, text: str, where: str, advice: str = "") -> Any:
    """Import the callable that an option names.

    Args:
        option: the option's key, for errors.
        where: the importing process, for errors, such as ``on the driver``.
        advice: what to do if the module cannot be imported, as a sentence after a blank.

    Raises:
        InvalidOptionError: the module or the callable was not found, or is not allowed.
    """
    module, _, name = text.partition(":")
    prefix = f"Option '{option}' = '{mask_user_info(text)}'"
    if not is_allowed_module(module):
        raise InvalidOptionError(f"{prefix}: {MODULES} does not allow module '{module}'.", option=option)
    try:
        target: Any = importlib.import_module(module)
    except ImportError as e:
        raise InvalidOptionError(
            f"{prefix}: module '{module}' cannot be imported {where} ({e}).{advice}", option=option
        ) from e
    for part in name.split("."):
        target = getattr(target, part, None)
    if not callable(target):
        raise InvalidOptionError(f"{prefix}: module '{module}' has no callable '{name}'.", option=option)
    # an allowed module may have imported functions of others
    if not is_allowed_module(getattr(target, "__module__", None) or ""):
        raise InvalidOptionError(
            f"{prefix}: the callable is defined in a module that {MODULES} does not allow.", option=option
        )
    return target


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


def resolve_allowed(path: str | os.PathLike[str]) -> Path:
    """Return the path of an option's file. If folders are restricted, links and ``..`` are resolved.

    Args:
        path: may start with ``~``.

    Raises:
        PermissionError: the path is not in an allowed folder, whether or not the file exists.
        FileNotFoundError: the name is not a valid file name.
    """
    name = os.fspath(path)
    if "\0" in name or any("\ud800" <= character <= "\udc7f" for character in name):  # other surrogates escape bytes
        raise FileNotFoundError(2, "the name has an invalid character")
    expanded = Path(os.path.expanduser(name))
    folders = allowed_entries(PATHS)
    if folders is None:
        return expanded
    real = Path(os.path.realpath(expanded))
    if not any(real.is_relative_to(os.path.realpath(folder)) for folder in folders):
        raise PermissionError(13, f"not in the folders that {PATHS} allows")
    return real


def read_allowed(path: str | os.PathLike[str]) -> bytes:
    """Return the content of an option's file.

    Raises:
        OSError: the file cannot be read, is not a regular file (a device, a pipe), or is not in an allowed folder.
    """
    file = resolve_allowed(path)
    mode = file.stat().st_mode
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise OSError(22, "not a regular file")
    return file.read_bytes()


def file_state(path: str | os.PathLike[str]) -> tuple[int, int, int] | None:
    """Return a fingerprint of an option's file (inode, size, modification time) that changes with the content.

    Returns:
        None if the file is inaccessible. Reading it raises the error.
    """
    try:
        status = os.stat(os.path.expanduser(path))
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns
