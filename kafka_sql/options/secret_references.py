"""References to secrets in options' values, resolved where a client is made and nowhere else.

The syntax and the three providers are those of Kafka's own clients (ConfigTransformer, EnvVarConfigProvider,
FileConfigProvider, DirectoryConfigProvider): ``${env:NAME}``, ``${file:/path:key}``, ``${directory:/path:name}``; a
value may have several. Where the environment names the folders that are allowed, files of others are refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from kafka_sql.errors import SecretReferenceError, did_you_mean
from kafka_sql.options.allowed_paths import read_allowed
from kafka_sql.options.secrets import is_secret

MASK: Final = "******"
_SECRET_LENGTH: Final = 4  # shorter ones are in many words, and no secrets


def has_reference(value: str) -> bool:
    """Whether a value has a reference, so that it says nothing before it is resolved."""
    return next(_references(value), None) is not None


def is_reference(value: str) -> bool:
    """Whether a value is one reference and nothing else."""
    text = value.strip()
    return any((one.start, one.end) == (0, len(text)) for one in _references(text))


def resolve_all(values: Mapping[str, str], prefix: str = "") -> dict[str, str]:
    """``values`` with every reference replaced by what it names, on this machine and now.

    Args:
        prefix: what stands before the keys in WITH (``properties.``), for errors.

    Raises:
        SecretReferenceError: names the option and the reference, never what was found.
    """
    return {key: resolve(value, prefix + key) for key, value in values.items()}


def resolve(value: str, option: str) -> str:
    """One value with every reference replaced; what was put in is not looked at again.

    Raises:
        SecretReferenceError: names the option and the reference, never what was found.
    """
    parts, end = [], 0
    for one in _references(value):
        parts += [value[end : one.start], _found(one, value[one.start : one.end], option)]
        end = one.end
    return "".join((*parts, value[end:]))


def mask_secrets(text: str, values: Mapping[str, str], resolved: Mapping[str, str]) -> str:
    """A library's words with the references in place of what they were resolved to, and no secret."""
    for key, value in resolved.items():
        if value and value != values.get(key, value):
            text = text.replace(value, values[key])
        elif len(value) >= _SECRET_LENGTH and is_secret(key):
            text = text.replace(value, MASK)
    return text


class _Reference(NamedTuple):
    """A reference, which is ``value[start:end]``."""

    start: int
    end: int
    provider: str
    path: str
    key: str


def _references(value: str) -> Iterator[_Reference]:
    """What stands between ``${`` and the next brace and has a colon; of three parts or two."""
    at = 0
    while (start := value.find("${", at)) >= 0 and (brace := value.find("}", start)) >= 0:
        at = brace + 1
        provider, *rest = value[start + 2 : brace].split(":", 2)
        if rest:
            yield _Reference(start, at, provider, "" if len(rest) == 1 else rest[0], rest[-1])


def _found(reference: _Reference, text: str, option: str) -> str:
    if reference.provider not in _PROVIDERS:
        known = ", ".join(f"'{p}'" for p in _PROVIDERS)
        raise SecretReferenceError(
            f"Option '{option}': reference '{text}' names no provider. There are: {known}."
            + did_you_mean(reference.provider, _PROVIDERS)
        )
    try:
        return _PROVIDERS[reference.provider](reference.path, reference.key)
    except _Missing as e:
        raise SecretReferenceError(f"Option '{option}': reference '{text}': {e}.") from None


class _Missing(Exception):
    """What a reference names is not there; says why, without content."""


def _environment(path: str, key: str) -> str:
    if path:
        raise _Missing("a variable of the environment has no path; write ${env:NAME}")
    try:
        return os.environ[key]
    except (KeyError, UnicodeEncodeError):
        raise _Missing("this process has no such variable of the environment (executors have their own)") from None


def _file(path: str, key: str) -> str:
    import javaproperties  # 50 ms, which few need

    text = _read(Path(path), f"file '{path}'")
    try:
        entries = javaproperties.loads(text)
    except ValueError:  # its message quotes the text
        raise _Missing(f"file '{path}' is no Java properties file") from None
    if key not in entries:
        raise _Missing(f"file '{path}' has no key '{key}'")
    return str(entries[key])


def _directory(path: str, key: str) -> str:
    if Path(key).name != key:
        raise _Missing("a name in a directory has no path of its own")
    return _read(Path(path) / key, f"file '{key}' in directory '{path}'")


def _read(path: Path, name: str) -> str:
    try:
        return read_allowed(path).decode()
    except OSError as e:
        raise _Missing(f"{name} cannot be read ({e.strerror})") from None
    except UnicodeDecodeError:
        raise _Missing(f"{name} is no UTF-8 text") from None


_PROVIDERS: Final[Mapping[str, Callable[[str, str], str]]] = {
    "env": _environment,
    "file": _file,
    "directory": _directory,
}
