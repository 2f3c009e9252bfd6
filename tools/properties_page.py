"""Writes docs/properties.md from the table of Java's properties: ``python -m tools.properties_page``."""

from __future__ import annotations

from pathlib import Path

from kafka_sql.kafka.config.java_properties import JAVA_PROPERTIES, REJECTED_LIBRDKAFKA_OPTIONS, Handling, Property
from kafka_sql.kafka.config.properties import DEFAULTS

PAGE = Path(__file__).parent.parent / "docs" / "properties.md"

_HEADINGS = {
    Handling.SAME: ("The same", "Java's client and librdkafka have these under one name, with the same meaning."),
    Handling.RENAMED: ("Renamed", "The same thing under another name of librdkafka's."),
    Handling.CONVERTED: ("Converted", "The same meaning, written otherwise."),
    Handling.IGNORED: ("Ignored", "They would have no effect. A warning in the log says so."),
    Handling.REJECTED: ("Refused", "They ask for something that cannot be had. The statement fails and says why."),
}


def page() -> str:
    """The whole page."""
    parts = [
        "# Properties of Kafka's client",
        "",
        "This page is made from the table in the code (`make docs-options`).",
        "",
        "Write the properties that your Java clients have, with `properties.` before them: every property of Apache",
        "Kafka's consumer, producer and admin client is here. librdkafka's own, under the names of its",
        "[CONFIGURATION.md](https://github.com/confluentinc/librdkafka/blob/master/CONFIGURATION.md), work too. A",
        "property that neither has is an error with the nearest name that there is.",
        "",
        "A value may be or have a reference, `${env:NAME}`, `${file:/path:key}` or `${directory:/path:name}`: see",
        "[security](security.md).",
        "",
    ]
    for fate, (heading, words) in _HEADINGS.items():
        found = sorted((p for p in JAVA_PROPERTIES.values() if p.handling is fate), key=lambda p: p.key)
        parts += [f"## {heading}", "", words, "", *_table(fate, found), ""]
    parts += [
        "librdkafka's own, refused:",
        "",
        "| property | why |",
        "|---|---|",
        *(f"| `{key}` | {why} |" for key, why in sorted(REJECTED_LIBRDKAFKA_OPTIONS.items())),
        "",
        "## Defaults",
        "",
        "Defaults that differ from librdkafka's, because Java's differ or a reader would be slow:",
        "",
        "| property | default |",
        "|---|---|",
        *(f"| `{key}` | `{value}` |" for key, value in sorted(DEFAULTS.items())),
        "",
    ]
    return "\n".join(parts)


def _table(fate: Handling, properties: list[Property]) -> list[str]:
    if fate is Handling.SAME:
        return [", ".join(f"`{p.key}`" for p in properties) + "."]
    if fate is Handling.RENAMED:
        return [
            "| Java's property | librdkafka's |",
            "|---|---|",
            *(f"| `{p.key}` | `{p.librdkafka_name}` |" for p in properties),
        ]
    heading = "what it becomes" if fate is Handling.CONVERTED else "why"
    return [f"| Java's property | {heading} |", "|---|---|", *(f"| `{p.key}` | {p.reason} |" for p in properties)]


if __name__ == "__main__":
    PAGE.write_text(page())
