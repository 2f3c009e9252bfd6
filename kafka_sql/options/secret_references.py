"""Resolve references to secrets in option values. References are resolved only when a client is created.

Syntax and providers are those of Kafka's clients (ConfigTransformer, EnvVarConfigProvider, FileConfigProvider,
DirectoryConfigProvider): ``${env:NAME}``, ``${file:/path:key}``, ``${directory:/path:name}``. A value may contain
several references. Files and variables must be allowed (``allow_lists``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from kafka_sql.errors import SecretReferenceError
from kafka_sql.options.allow_lists import VARIABLES, is_allowed_variable, read_allowed
from kafka_sql.options.secrets import MASK, is_secret, mask_user_info
from kafka_sql.suggestions import did_you_mean

_SECRET_LENGTH: Final = 4  # shorter values occur in ordinary words, and are not secrets


def has_reference(value: str) -> bool:
    """Return whether a value contains a reference, so that it cannot be interpreted before it is resolved."""
    return next(_references(value), None) is not None


def is_reference(value: str) -> bool:
    """Return whether a value consists of exactly one reference."""
    text = value.strip()
    return any((r.start, r.end) == (0, len(text)) for r in _references(text))


def resolve_all(values: Mapping[str, str], prefix: str = "") -> dict[str, str]:
    """Return the values with every reference resolved on this machine.

    Args:
        prefix: the prefix of the keys in WITH (``properties.``), for errors.

    Raises:
        SecretReferenceError: names the option and the reference, never the resolved value.
    """
    return {key: resolve(value, prefix + key) for key, value in values.items()}


def resolve(value: str, option: str) -> str:
    """Return a value with every reference resolved. Resolved values are not scanned for references.

    Raises:
        SecretReferenceError: names the option and the reference, never the resolved value.
    """
    parts, end = [], 0
    for reference in _references(value):
        text = value[reference.start : reference.end]
        parts += [value[end : reference.start], _resolve_reference(reference, text, option)]
        end = reference.end
    return "".join((*parts, value[end:]))


def mask_secrets(text: str, values: Mapping[str, str], resolved: Mapping[str, str]) -> str:
    """Replace resolved values in a library's message with their references, and mask other secrets and user info."""
    for key, value in resolved.items():
        if value and value != values.get(key, value):
            text = text.replace(value, values[key] if is_reference(values[key]) or not is_secret(key) else MASK)
        elif len(value) >= _SECRET_LENGTH and is_secret(key):
            text = text.replace(value, MASK)
    return mask_user_info(text)


class _Reference(NamedTuple):
    """The reference ``value[start:end]``."""

    start: int
    end: int
    provider: str
    path: str
    key: str


def _references(value: str) -> Iterator[_Reference]:
    """Yield the references ``${provider:path:key}`` and ``${provider:key}``. Other ``${...}`` are left unchanged."""
    position = 0
    while (start := value.find("${", position)) >= 0 and (brace := value.find("}", start)) >= 0:
        position = brace + 1
        provider, *path_and_key = value[start + 2 : brace].split(":", 2)
        if path_and_key:
            yield _Reference(
                start, position, provider, "" if len(path_and_key) == 1 else path_and_key[0], path_and_key[-1]
            )


def _resolve_reference(reference: _Reference, text: str, option: str) -> str:
    if reference.provider not in _PROVIDERS:
        known = ", ".join(f"'{p}'" for p in _PROVIDERS)
        raise SecretReferenceError(
            f"Option '{option}': reference '{text}' has an unknown provider. Supported: {known}."
            + did_you_mean(reference.provider, _PROVIDERS),
            option=option,
        )
    try:
        return _PROVIDERS[reference.provider](reference.path, reference.key)
    except _UnresolvedReference as e:
        raise SecretReferenceError(f"Option '{option}': reference '{text}': {e}.", option=option) from None


class _UnresolvedReference(Exception):
    """A reference could not be resolved. The message gives the reason without any content."""


def _environment(path: str, key: str) -> str:
    if path:
        raise _UnresolvedReference("environment variables have no path; write ${env:NAME}")
    if not is_allowed_variable(key):
        raise _UnresolvedReference(f"not one of the environment variables that {VARIABLES} allows")
    try:
        return os.environ[key]
    except (KeyError, UnicodeEncodeError):
        raise _UnresolvedReference(
            "the environment variable is not set in this process (executors have their own environment)"
        ) from None


def _file(path: str, key: str) -> str:
    import javaproperties  # lazy: takes 50 ms, and is rarely needed

    text = _read(Path(path), f"file '{path}'")
    try:
        entries = javaproperties.loads(text)
    except ValueError:  # its message contains the text
        raise _UnresolvedReference(f"file '{path}' is not a Java properties file") from None
    if key not in entries:
        raise _UnresolvedReference(f"file '{path}' has no key '{key}'")
    return str(entries[key])


def _directory(path: str, key: str) -> str:
    if Path(key).name != key:
        raise _UnresolvedReference("the file name must not contain a path")
    return _read(Path(path) / key, f"file '{key}' in directory '{path}'")


def _read(path: Path, name: str) -> str:
    try:
        return read_allowed(path).decode()
    except OSError as e:
        raise _UnresolvedReference(f"{name} cannot be read ({e.strerror})") from None
    except UnicodeDecodeError:
        raise _UnresolvedReference(f"{name} is not UTF-8") from None


_PROVIDERS: Final[Mapping[str, Callable[[str, str], str]]] = {
    "env": _environment,
    "file": _file,
    "directory": _directory,
}
