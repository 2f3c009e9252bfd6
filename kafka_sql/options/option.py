"""Define options (key, type, default, allowed values, documentation), and parse a table's options with them."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError, MissingOptionError
from kafka_sql.options.secrets import is_secret, is_url, mask_user_info
from kafka_sql.options.string_lists import split_list
from kafka_sql.suggestions import did_you_mean, find_similar_name

_LOG = logging.getLogger("kafka_sql.options")
T = TypeVar("T")


@dataclass(frozen=True)
class Option(Generic[T]):
    """One option."""

    key: str  # the key in WITH
    parse: Callable[[str], T]  # converts text to a value; raises ValueError with what was expected
    type: str  # the type's name, for documentation
    doc: str  # one paragraph of documentation for users
    default: str | None = None  # the default value as text; None if the option has no default
    required: bool = False  # whether the option must be set
    allowed: tuple[str, ...] = ()  # the values of an enumeration
    deprecated_keys: tuple[str, ...] = ()  # former keys, which are accepted with a warning
    aliases: tuple[str, ...] = ()  # other accepted keys
    # whether the option decides where secrets beside it are sent, or what protects them on the way. A statement that
    # changes it does not inherit these secrets from a table (``inherited_secrets``).
    is_destination: bool = False

    @property
    def keys(self) -> tuple[str, ...]:
        """All accepted keys."""
        return (self.key, *self.aliases, *self.deprecated_keys)

    def read(self, text: str, key: str | None = None) -> T:
        """Parse a value.

        Args:
            key: the key for errors if it differs from the option's.

        Raises:
            InvalidOptionError: the value has the wrong type or is not allowed.
        """
        try:
            return self.parse(text)
        except ValueError as e:
            name, near = key or self.key, did_you_mean(text, self.allowed)
            if is_secret(name):  # neither the message nor a cause may contain the value
                raise InvalidOptionError(f"Invalid value for option '{name}'.", option=name) from None
            if is_url(name) or mask_user_info(text) != text:  # may contain user and password
                expected = mask_user_info(str(e))
                raise InvalidOptionError(f"Invalid value for option '{name}': {expected}.", option=name) from None
            raise InvalidOptionError(f"Invalid value '{text}' for option '{name}': {e}.{near}", option=name) from e


def string(key: str, doc: str, **attributes: Any) -> Option[str]:
    """Define an option with any non-empty string."""

    def parse(text: str) -> str:
        if not text:
            raise ValueError("expected a non-empty string")
        return text

    return Option(key, parse, "String", doc, **attributes)


def any_string(key: str, doc: str, **attributes: Any) -> Option[str]:
    """Define an option with any string, even an empty one. Its format is checked together with other options."""
    return Option(key, str, "String", doc, **attributes)


def string_list(key: str, doc: str, **attributes: Any) -> Option[tuple[str, ...]]:
    """Define an option with one or more strings separated by ``;``; see ``split_list`` for quotes."""

    def parse(text: str) -> tuple[str, ...]:
        values = split_list(text)
        if not values or not all(values):
            raise ValueError("expected one or more names separated by ';'")
        return values

    return Option(key, parse, "List<String>", doc, **attributes)


def boolean(key: str, doc: str, **attributes: Any) -> Option[bool]:
    """Define an option that is ``true`` or ``false``, case-insensitive."""

    def parse(text: str) -> bool:
        if text.lower() not in ("true", "false"):
            raise ValueError("expected 'true' or 'false'")
        return text.lower() == "true"

    return Option(key, parse, "Boolean", doc, allowed=("true", "false"), **attributes)


def enum(key: str, doc: str, allowed: tuple[str, ...], **attributes: Any) -> Option[str]:
    """Define an option with one of the ``allowed`` values, case-insensitive; the value is returned as listed there."""

    def parse(text: str) -> str:
        for value in allowed:
            if value.lower() == text.lower():
                return value
        raise ValueError("expected one of " + ", ".join(f"'{v}'" for v in allowed))

    return Option(key, parse, "Enum", doc, allowed=allowed, **attributes)


def integer(key: str, doc: str, minimum: int, bits: int = 32, **attributes: Any) -> Option[int]:
    """Define an option with an integer of at least ``minimum`` that fits a signed integer of ``bits`` bits."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"\s*[+-]?\d{1,19}\s*", text, re.ASCII) or not minimum <= int(text) < 1 << (bits - 1):
            raise ValueError(f"expected an integer of at least {minimum}")
        return int(text)

    return Option(key, parse, "Integer" if bits == 32 else "Long", doc, **attributes)


def duration(key: str, doc: str, **attributes: Any) -> Option[int]:
    """Define an option with a duration in Flink's syntax (``10 s``, ``5min``, ``500``), in milliseconds."""
    return Option(key, parse_duration, "Duration", doc, **attributes)


def memory_size(key: str, doc: str, **attributes: Any) -> Option[int]:
    """Define an option with a size in Flink's syntax (``64 mb``, ``500kb``, ``1024``), in bytes."""
    return Option(key, parse_memory_size, "MemorySize", doc, **attributes)


# Units of Flink's MemorySize. A number without a unit is bytes.
_SIZE_UNITS = {
    1: ("b", "bytes", ""),
    1 << 10: ("k", "kb", "kibibytes"),
    1 << 20: ("m", "mb", "mebibytes"),
    1 << 30: ("g", "gb", "gibibytes"),
    1 << 40: ("t", "tb", "tebibytes"),
}
_SIZE_FACTORS = {unit: factor for factor, units in _SIZE_UNITS.items() for unit in units}


def parse_memory_size(text: str) -> int:
    """Parse a size such as ``64 mb`` to bytes; raise ValueError for other text, and for 0."""
    size = _parse_amount(text, _SIZE_FACTORS)
    if not size:
        raise ValueError("expected a size such as '500 kb', '64 mb' or '1 gb'")
    return size


# Units of Flink's TimeUtils. A number without a unit is milliseconds.
_DURATION_UNITS = {
    1: ("ms", "milli", "millis", "millisecond", "milliseconds", ""),
    1_000: ("s", "sec", "secs", "second", "seconds"),
    60_000: ("m", "min", "minute", "minutes"),
    3_600_000: ("h", "hour", "hours"),
    86_400_000: ("d", "day", "days"),
}
_DURATION_FACTORS = {unit: factor for factor, units in _DURATION_UNITS.items() for unit in units}


def parse_duration(text: str) -> int:
    """Parse a duration such as ``10 s`` to milliseconds; raise ValueError for other text."""
    amount = _parse_amount(text, _DURATION_FACTORS)
    if amount is None:
        raise ValueError("expected a duration such as '500 ms', '10 s' or '5 min'")
    return amount


def _parse_amount(text: str, factors: Mapping[str, int]) -> int | None:
    """Parse a number with a unit. Return None if it is invalid or exceeds Java's long."""
    match = re.fullmatch(r"\s*0*(\d{1,19})\s*([a-z]*)\s*", text.lower(), re.ASCII)
    if match is None or match[2] not in factors:
        return None
    amount = int(match[1]) * factors[match[2]]
    return amount if amount < 1 << 63 else None


class Options:
    """The parsed options of one table: ``options[STARTUP_MODE]`` is the typed value or the default.

    The representation shows keys only, because values may be secrets.
    """

    def __init__(
        self,
        known: Iterable[Option[Any]],
        raw: Mapping[str, str],
        prefix: str = "",
        keys: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Parse all known options, so that an invalid value fails here and not on an executor.

        Args:
            raw: the options as text.
            prefix: the prefix of the keys in WITH (``value.``), for errors.
            keys: by the option's key, its full key in WITH if that is not ``prefix`` and the option's key. With
                json-confluent, for example, the option ``json.x`` is ``value.json-confluent.x``.

        Raises:
            MissingOptionError: names all required options that are missing.
            ConflictingOptionsError: an option is set under several of its keys with different values.
            InvalidOptionError: a value has the wrong type.
        """
        known = tuple(known)
        missing = [o for o in known if o.required and not any(k in raw for k in o.keys)]
        if missing:
            typo = find_similar_name(missing[0].key, raw, cutoff=0.9)
            hint = f" Is '{prefix}{typo}' misspelled?" if typo is not None else ""
            raise MissingOptionError(
                "One or more required options are missing. Missing required options are: "
                + ", ".join(f"'{prefix}{o.key}'" for o in missing)
                + f". {missing[0].doc}{hint}",
                option=prefix + missing[0].key,
            )
        self._prefix, self._keys = prefix, dict(keys)
        self._values: dict[str, Any] = {}
        self._set_keys: set[str] = set()
        for option in known:
            key = _find_key(option, raw, prefix)
            if key in raw:
                self._set_keys.add(option.key)
                self._values[option.key] = option.read(raw[key], prefix + key)
            elif option.default is not None:
                self._values[option.key] = option.read(option.default)

    def __getitem__(self, option: Option[T]) -> T:
        """Return the value of an option that has a default or is required."""
        value: T = self._values[option.key]
        return value

    def get(self, option: Option[T]) -> T | None:
        """Return the value, or None if the option is not set and has no default."""
        return self._values.get(option.key)

    def is_set(self, option: Option[Any]) -> bool:
        """Whether the option is set explicitly, even to its default."""
        return option.key in self._set_keys

    def key(self, option: Option[Any]) -> str:
        """Return the option's key in WITH, with its prefix."""
        return self._keys.get(option.key, self._prefix + option.key)

    def __repr__(self) -> str:
        return f"Options({', '.join(self._values)})"


def _find_key(option: Option[Any], raw: Mapping[str, str], prefix: str) -> str:
    """Return the key under which the option is set."""
    keys = [k for k in option.keys if k in raw]
    for key in keys:
        if key in option.deprecated_keys:
            _LOG.warning("option '%s' is deprecated: use '%s'", prefix + key, prefix + option.key)
    if len({raw[k] for k in keys}) > 1:
        names = " and ".join(f"'{prefix}{k}'" for k in keys)
        raise ConflictingOptionsError(
            f"Options {names} are keys of the same option, but have different values. Keep '{prefix}{option.key}'.",
            option=prefix + option.key,
        )
    return keys[0] if keys else option.key


def extract_format_options(raw: Mapping[str, str], prefix: str, identifier: str) -> dict[str, str]:
    """Return the options of one format under the format's own keys: ``value.json.x`` becomes ``json.x``.

    Args:
        prefix: ``""`` for 'format', ``"value."`` for 'value.format', ``"key."`` for 'key.format'.
    """
    start = f"{prefix}{identifier}."
    return {key.removeprefix(prefix): text for key, text in raw.items() if key.startswith(start)}
