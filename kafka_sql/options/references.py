"""References to secrets in options' values, resolved where a client is made and nowhere else.

The syntax and the three providers are those of Kafka's own clients (ConfigTransformer, EnvVarConfigProvider,
FileConfigProvider, DirectoryConfigProvider): ``${env:NAME}``, ``${file:/path:key}``, ``${directory:/path:name}``; a
value may have several.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from kafka_sql.errors import SecretReferenceError, did_you_mean
from kafka_sql.options.secrets import is_secret

HIDDEN: Final = "******"
_SECRET_LENGTH: Final = 4  # shorter ones are in many words, and no secrets
_REFERENCE: Final = re.compile(r"\$\{([^}]*?):(?:([^}]*?):)?([^}]*?)\}")


def has_reference(value: str) -> bool:
    """Whether a value has a reference, so that it says nothing before it is resolved."""
    return _REFERENCE.search(value) is not None


def only_reference(value: str) -> bool:
    """Whether a value is one reference and nothing else."""
    return _REFERENCE.fullmatch(value.strip()) is not None


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

    def found(match: re.Match[str]) -> str:
        provider, path, key = match[1], match[2] or "", match[3]
        if provider not in _PROVIDERS:
            known = ", ".join(f"'{p}'" for p in _PROVIDERS)
            raise SecretReferenceError(
                f"Option '{option}': reference '{match[0]}' names no provider. There are: {known}."
                + did_you_mean(provider, _PROVIDERS)
            )
        try:
            return _PROVIDERS[provider](path, key)
        except _Missing as e:
            raise SecretReferenceError(f"Option '{option}': reference '{match[0]}': {e}.") from None

    return _REFERENCE.sub(found, value)


def masked(text: str, values: Mapping[str, str], resolved: Mapping[str, str]) -> str:
    """A library's words with the references in place of what they were resolved to, and no secret."""
    for key, value in resolved.items():
        if value and value != values.get(key, value):
            text = text.replace(value, values[key])
        elif len(value) >= _SECRET_LENGTH and is_secret(key):
            text = text.replace(value, HIDDEN)
    return text


class _Missing(Exception):
    """What a reference names is not there; says why, without content."""


def _environment(path: str, key: str) -> str:
    if path:
        raise _Missing("a variable of the environment has no path; write ${env:NAME}")
    if key not in os.environ:
        raise _Missing("this process has no such variable of the environment (executors have their own)")
    return os.environ[key]


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
        return path.read_bytes().decode()
    except OSError as e:
        raise _Missing(f"{name} cannot be read ({e.strerror})") from None
    except UnicodeDecodeError:
        raise _Missing(f"{name} is no UTF-8 text") from None


_PROVIDERS: Final[Mapping[str, Callable[[str, str], str]]] = {
    "env": _environment,
    "file": _file,
    "directory": _directory,
}
