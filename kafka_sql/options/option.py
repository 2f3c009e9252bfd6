"""An option: its key, type, default, allowed values and documentation; and a checked set of them."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kafka_sql.errors import ConflictingOptionsError, InvalidOptionError, MissingOptionError, did_you_mean
from kafka_sql.options.secrets import is_secret

_LOG = logging.getLogger("kafka_sql.options")
T = TypeVar("T")


@dataclass(frozen=True)
class Option(Generic[T]):
    """One option.

    Attributes:
        key: as it is typed in WITH.
        parse: text to value; raises ValueError with what was expected.
        type: the type's name, for documentation and errors.
        doc: one paragraph for the person who uses it.
        default: the value when absent, as text; None where there is none.
        required: absent is an error.
        allowed: the values of an enumeration.
        deprecated: keys that it had before; they work, with a warning.
        also: other keys that mean the same.
    """

    key: str
    parse: Callable[[str], T]
    type: str
    doc: str
    default: str | None = None
    required: bool = False
    allowed: tuple[str, ...] = ()
    deprecated_keys: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[str, ...]:
        """Every key that the option is found under."""
        return (self.key, *self.aliases, *self.deprecated_keys)

    def read(self, text: str, key: str | None = None) -> T:
        """The typed value of ``text``.

        Raises:
            InvalidOptionError: ``text`` is ill-typed or not allowed; named under ``key`` where that differs.
        """
        try:
            return self.parse(text)
        except ValueError as e:
            name, near = key or self.key, did_you_mean(text, self.allowed)
            if is_secret(name):  # neither the message nor a cause repeats it
                raise InvalidOptionError(f"Invalid value for option '{name}'.") from None
            raise InvalidOptionError(f"Invalid value '{text}' for option '{name}': {e}.{near}") from e


def string(key: str, doc: str, **more: Any) -> Option[str]:
    """An option that is any non-empty text."""

    def parse(text: str) -> str:
        if not text:
            raise ValueError("expected a non-empty text")
        return text

    return Option(key, parse, "String", doc, **more)


def string_list(key: str, doc: str, **more: Any) -> Option[tuple[str, ...]]:
    """An option that is one or more texts separated by ``;``."""

    def parse(text: str) -> tuple[str, ...]:
        values = tuple(part.strip() for part in text.split(";"))
        if not all(values):
            raise ValueError("expected one or more names separated by ';'")
        return values

    return Option(key, parse, "List<String>", doc, **more)


def boolean(key: str, doc: str, **more: Any) -> Option[bool]:
    """An option that is ``true`` or ``false``, in any case."""

    def parse(text: str) -> bool:
        if text.lower() not in ("true", "false"):
            raise ValueError("expected 'true' or 'false'")
        return text.lower() == "true"

    return Option(key, parse, "Boolean", doc, allowed=("true", "false"), **more)


def enum(key: str, doc: str, allowed: tuple[str, ...], **more: Any) -> Option[str]:
    """An option that is one of ``allowed``; read in any case, given back as spelled there."""

    def parse(text: str) -> str:
        for value in allowed:
            if value.lower() == text.lower():
                return value
        raise ValueError("expected one of " + ", ".join(f"'{v}'" for v in allowed))

    return Option(key, parse, "Enum", doc, allowed=allowed, **more)


def integer(key: str, doc: str, minimum: int, bits: int = 32, **more: Any) -> Option[int]:
    """An option that is a whole number of at least ``minimum``, in Java's range of so many bits."""

    def parse(text: str) -> int:
        if not re.fullmatch(r"\s*[+-]?\d{1,19}\s*", text, re.ASCII) or not minimum <= int(text) < 1 << (bits - 1):
            raise ValueError(f"expected a whole number, at least {minimum}")
        return int(text)

    return Option(key, parse, "Integer" if bits == 32 else "Long", doc, **more)


def duration(key: str, doc: str, **more: Any) -> Option[int]:
    """An option that is a length of time as Flink writes it (``10 s``, ``5min``, ``500``); milliseconds."""
    return Option(key, parse_duration, "Duration", doc, **more)


def memory_size(key: str, doc: str, **more: Any) -> Option[int]:
    """An option that is a number of bytes as Flink writes it (``64 mb``, ``500kb``, ``1024``)."""
    return Option(key, parse_memory_size, "MemorySize", doc, **more)


# Labels of Flink's MemorySize; a number without a label is bytes.
_SIZES = {
    1: ("b", "bytes", ""),
    1 << 10: ("k", "kb", "kibibytes"),
    1 << 20: ("m", "mb", "mebibytes"),
    1 << 30: ("g", "gb", "gibibytes"),
    1 << 40: ("t", "tb", "tebibytes"),
}
_SIZE_LABELS = {label: size for size, labels in _SIZES.items() for label in labels}


def parse_memory_size(text: str) -> int:
    """Bytes of a size such as ``64 mb``; one at least.

    Raises:
        ValueError: the text is no size.
    """
    size = _amount(text, _SIZE_LABELS)
    if not size:
        raise ValueError("expected a size such as '500 kb', '64 mb' or '1 gb'")
    return size


# Labels of Flink's TimeUtils; a number without a label is milliseconds.
_UNITS = {
    1: ("ms", "milli", "millis", "millisecond", "milliseconds", ""),
    1_000: ("s", "sec", "secs", "second", "seconds"),
    60_000: ("m", "min", "minute", "minutes"),
    3_600_000: ("h", "hour", "hours"),
    86_400_000: ("d", "day", "days"),
}
_LABELS = {label: ms for ms, labels in _UNITS.items() for label in labels}


def parse_duration(text: str) -> int:
    """Milliseconds of a duration such as ``10 s``.

    Raises:
        ValueError: the text is no duration.
    """
    amount = _amount(text, _LABELS)
    if amount is None:
        raise ValueError("expected a duration such as '500 ms', '10 s' or '5 min'")
    return amount


def _amount(text: str, labels: Mapping[str, int]) -> int | None:
    """A number with a label behind it; None where it is none, or beyond what Java's long holds."""
    match = re.fullmatch(r"\s*0*(\d{1,19})\s*([a-z]*)\s*", text.lower(), re.ASCII)
    if match is None or match[2] not in labels:
        return None
    amount = int(match[1]) * labels[match[2]]
    return amount if amount < 1 << 63 else None


class Options:
    """The checked options of one table: ``options[STARTUP_MODE]`` is the typed value or the default.

    Printing it shows keys only, as values may be secrets.
    """

    def __init__(self, known: Iterable[Option[Any]], given: Mapping[str, str], prefix: str = "") -> None:
        """Read every known option once, so that an ill-typed one fails here and not on an executor.

        Args:
            prefix: what stands before the keys in WITH (``value.``), for errors.

        Raises:
            MissingOptionError: names every required option that is absent.
            ConflictingOptionsError: an option is given under its key and under a deprecated one, differently.
            InvalidOptionError: a value is ill-typed.
        """
        known = tuple(known)
        missing = [o for o in known if o.required and not any(k in given for k in o.keys)]
        if missing:
            raise MissingOptionError(
                "One or more required options are missing. Missing required options are: "
                + ", ".join(f"'{prefix}{o.key}'" for o in missing)
                + f". {missing[0].doc}"
            )
        self._values: dict[str, Any] = {}
        self._given: set[str] = set()
        for option in known:
            key = _key(option, given, prefix)
            if key in given:
                self._given.add(option.key)
                self._values[option.key] = option.read(given[key], prefix + key)
            elif option.default is not None:
                self._values[option.key] = option.read(option.default)

    def __getitem__(self, option: Option[T]) -> T:
        """The value of an option that has a default or is required."""
        value: T = self._values[option.key]
        return value

    def get(self, option: Option[T]) -> T | None:
        """The value, or None where the option is absent and has no default."""
        return self._values.get(option.key)

    def is_set(self, option: Option[Any]) -> bool:
        """Whether the statement says it, be it the default."""
        return option.key in self._given

    def __repr__(self) -> str:
        return f"Options({', '.join(self._values)})"


def _key(option: Option[Any], given: Mapping[str, str], prefix: str) -> str:
    """The key that the option is given under."""
    found = [k for k in option.keys if k in given]
    for old in found:
        if old in option.deprecated_keys:
            _LOG.warning("option '%s' is deprecated: use '%s'", prefix + old, prefix + option.key)
    if len({given[k] for k in found}) > 1:
        names = " and ".join(f"'{prefix}{k}'" for k in found)
        raise ConflictingOptionsError(f"Options {names} are one option and differ; keep '{prefix}{option.key}'.")
    return found[0] if found else option.key


def extract_format_options(raw: Mapping[str, str], prefix: str, identifier: str) -> dict[str, str]:
    """Return the options of one format under the format's own keys: ``value.json.x`` becomes ``json.x``.

    Args:
        prefix: ``""`` for 'format', ``"value."`` for 'value.format', ``"key."`` for 'key.format'.
    """
    start = f"{prefix}{identifier}."
    return {key.removeprefix(prefix): text for key, text in raw.items() if key.startswith(start)}
