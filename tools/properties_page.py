"""Write docs/properties.md from the table of Java's properties: ``python -m tools.properties_page``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from kafka_sql.kafka.config.java_properties import JAVA_PROPERTIES, Handling, Property
from kafka_sql.kafka.config.librdkafka_properties import REJECTED_OPTIONS
from kafka_sql.kafka.config.properties import DEFAULTS
from kafka_sql.kafka.config.token_providers import OWN_PROPERTIES
from kafka_sql.kafka.direct.eligibility import (
    HONORED,
    NO_MEANING,
    READER_HONORED,
    SECURITY,
    UNSUPPORTED_VALUES,
    WRITER_HONORED,
    WRITER_ONLY,
)

PAGE = Path(__file__).parent.parent / "docs" / "properties.md"

_HEADINGS = {
    Handling.SAME: ("Same name", "Java's clients and librdkafka have the same name and meaning for these."),
    Handling.RENAMED: ("Renamed", "librdkafka has another name for these."),
    Handling.CONVERTED: ("Converted", "librdkafka has other values or several properties for these."),
    Handling.IGNORED: (
        "Ignored",
        "These have no effect. A warning is logged. In [real-time mode](real-time.md), Java's client honors "
        f"{', '.join(f'`{key}`' for key, java in sorted(JAVA_PROPERTIES.items()) if java.is_java_only)}.",
    ),
    Handling.REJECTED: ("Rejected", "These are not supported. The statement fails with the reason."),
}


def page() -> str:
    """Return the page."""
    parts = [
        "# Kafka client properties",
        "",
        "This page is generated from the code (`make docs-options`).",
        "",
        "Use the properties of your Java clients with the prefix `properties.`: this page lists every property of",
        "Apache Kafka's consumer, producer and admin client. librdkafka's own properties work, too; see its",
        "[CONFIGURATION.md](https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md). Callbacks,",
        "options that load code or write files, and options of newer librdkafka releases are not supported. An",
        "unknown property is an error that suggests the most similar name.",
        "",
        "Numbers are written as in Java, in decimal digits without a unit, and have the ranges of Java's clients. An",
        "error about a wrong value names the value, unless it may be a secret, and what is expected.",
        "",
        "A value can contain references to secrets, `${env:NAME}`, `${file:/path:key}` or `${directory:/path:name}`:",
        "see [security](security.md).",
        "",
    ]
    for handling, (heading, text) in _HEADINGS.items():
        properties = sorted((p for p in JAVA_PROPERTIES.values() if p.handling is handling), key=lambda p: p.key)
        parts += [f"## {heading}", "", text, "", *_table(handling, properties), ""]
    parts += [
        "Rejected properties of librdkafka:",
        "",
        "| property | reason |",
        "|---|---|",
        *(f"| `{key}` | {reason} |" for key, reason in sorted(REJECTED_OPTIONS.items())),
        "",
        "## Added",
        "",
        "Neither Java's clients nor librdkafka have these.",
        "",
        "| property | meaning |",
        "|---|---|",
        *(f"| `{key}` | {meaning} |" for key, meaning in sorted(OWN_PROPERTIES.items())),
        "",
        *_direct_client(),
        "## Defaults",
        "",
        "These defaults differ from librdkafka's, to match Java's clients or for speed:",
        "",
        "| property | default |",
        "|---|---|",
        *(f"| `{key}` | `{value}` |" for key, value in sorted(DEFAULTS.items())),
        "",
    ]
    return "\n".join(parts)


def _direct_client() -> list[str]:
    values = ", ".join(f"`{key}` = `{value}`" for key, values in UNSUPPORTED_VALUES.items() for value in values)
    return [
        "## Direct client",
        "",
        "The [direct client](deployment.md#kafka-clients) reads and writes most tables. It honors:",
        "",
        f"- for reading and writing: {_join(HONORED)}, and the `ssl.*` and `sasl.*` properties",
        f"- for reading: {_join(READER_HONORED)}",
        f"- for writing: {_join(WRITER_HONORED)}",
        "",
        f"These have no meaning for it: {_join(NO_MEANING)}.",
        "It joins no group, commits nothing, and requests metadata from any broker or bootstrap server: for each task,",
        "and again after an error. Properties of producers do not matter for reading, and those of consumers do not",
        "matter for writing.",
        "",
        f"With any other property ({_join(_left_to_librdkafka())}, or one",
        f"of librdkafka's own) or {values}, librdkafka reads or writes the table, and the reason is logged.",
        "With `acks` = `0`, a broker does not respond, and shows an error only by closing the connection. Kerberos",
        "(`sasl.mechanism` = `GSSAPI`) is left to librdkafka for writing, and for reading if MIT Kerberos' library is",
        "not installed.",
        "",
    ]


def _left_to_librdkafka() -> list[str]:
    """Return the properties, other than those of security, with which librdkafka reads or writes."""
    supported = HONORED | READER_HONORED | WRITER_HONORED | NO_MEANING
    handled = (Handling.SAME, Handling.RENAMED, Handling.CONVERTED)
    properties = [p for p in JAVA_PROPERTIES.values() if p.handling in handled and not p.key.startswith(SECURITY)]
    java_names = [p.key for p in properties if (p.librdkafka_name or p.key) not in supported]
    converted = ("buffer.memory", "compression.gzip.level", "compression.lz4.level", "compression.zstd.level")
    return [key for key in java_names if key not in converted] + sorted(WRITER_ONLY - WRITER_HONORED)


def _join(keys: Iterable[str]) -> str:
    """List properties with Java's names."""
    names = {p.librdkafka_name: p.key for p in JAVA_PROPERTIES.values() if p.librdkafka_name}
    names["queue.buffering.max.kbytes"] = "buffer.memory"
    return ", ".join(f"`{key}`" for key in sorted(names.get(key, key) for key in keys))


def _table(handling: Handling, properties: list[Property]) -> list[str]:
    if handling is Handling.SAME:
        return [", ".join(f"`{p.key}`" for p in properties) + "."]
    if handling is Handling.RENAMED:
        return [
            "| Java's property | librdkafka's |",
            "|---|---|",
            *(f"| `{p.key}` | `{p.librdkafka_name}` |" for p in properties),
        ]
    heading = "conversion" if handling is Handling.CONVERTED else "reason"
    return [f"| Java's property | {heading} |", "|---|---|", *(f"| `{p.key}` | {p.reason} |" for p in properties)]


if __name__ == "__main__":
    PAGE.write_text(page())
