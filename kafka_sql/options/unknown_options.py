"""A statement's WITH map against the options that its connector and formats have."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from kafka_sql.errors import UnknownOptionError, nearest
from kafka_sql.options.connector import PREFIXES


def reject_unknown_options(connector: str, given: Collection[str], known: Collection[str]) -> None:
    """Refuse keys that nobody has; ``properties.*`` and ``sink.topic.config.*`` are Kafka's, whose
    client and brokers check them.

    Raises:
        UnknownOptionError: names every unknown key, the nearest known one, and all that are known.
    """
    unknown = [k for k in given if k not in known and not k.startswith(PREFIXES)]
    if not unknown:
        return
    wrong = "; ".join(f"'{k}'{_near(k, known)}" for k in unknown)
    also = ", ".join(f"'{p}*'" for p in PREFIXES)
    supported = ", ".join(f"'{k}'" for k in sorted(known))
    raise UnknownOptionError(
        f"Unsupported options found for '{connector}'. Unsupported options: {wrong}. "
        f"Supported options: {supported}, {also}."
    )


def _near(key: str, known: Collection[str]) -> str:
    near = nearest(key, known)
    return f" (did you mean '{near}'?)" if near else ""


def extract_format_options(given: Mapping[str, str], prefix: str, identifier: str) -> dict[str, str]:
    """The options of one format, under the format's own keys: ``value.json.x`` becomes ``json.x``.

    Args:
        prefix: ``""`` for 'format', ``"value."`` for 'value.format', ``"key."`` for 'key.format'.
    """
    start = f"{prefix}{identifier}."
    return {key.removeprefix(prefix): text for key, text in given.items() if key.startswith(start)}
