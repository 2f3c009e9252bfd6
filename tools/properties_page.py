"""Write docs/properties.md from the table of Java's properties: ``python -m tools.properties_page``."""

from __future__ import annotations

from pathlib import Path

from kafka_sql.kafka.config.java_properties import JAVA_PROPERTIES, Handling, Property
from kafka_sql.kafka.config.librdkafka_options import REJECTED_OPTIONS
from kafka_sql.kafka.config.properties import DEFAULTS

PAGE = Path(__file__).parent.parent / "docs" / "properties.md"

_HEADINGS = {
    Handling.SAME: ("Same name", "Java's clients and librdkafka have the same name and meaning for these."),
    Handling.RENAMED: ("Renamed", "librdkafka has another name for these."),
    Handling.CONVERTED: ("Converted", "librdkafka has other values or several properties for these."),
    Handling.IGNORED: ("Ignored", "These have no effect. A warning is logged."),
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
