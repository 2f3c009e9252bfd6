"""Writes docs/properties.md from the table of Java's properties: ``python -m tools.properties_page``."""

from __future__ import annotations

from pathlib import Path

from kafka_sql.kafka.config.java_properties import JAVA, OWN_REFUSED, Fate, Property
from kafka_sql.kafka.config.properties import DEFAULTS

PAGE = Path(__file__).parent.parent / "docs" / "properties.md"

_HEADINGS = {
    Fate.SAME: ("The same", "Java's client and librdkafka have these under one name, with the same meaning."),
    Fate.RENAMED: ("Renamed", "The same thing under another name of librdkafka's."),
    Fate.CONVERTED: ("Converted", "The same meaning, written otherwise."),
    Fate.IGNORED: ("Ignored", "They would have no effect. A warning in the log says so."),
    Fate.REFUSED: ("Refused", "They ask for something that cannot be had. The statement fails and says why."),
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
        found = sorted((p for p in JAVA.values() if p.fate is fate), key=lambda p: p.key)
        parts += [f"## {heading}", "", words, "", *_table(fate, found), ""]
    parts += [
        "librdkafka's own, refused:",
        "",
        "| property | why |",
        "|---|---|",
        *(f"| `{key}` | {why} |" for key, why in sorted(OWN_REFUSED.items())),
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


def _table(fate: Fate, properties: list[Property]) -> list[str]:
    if fate is Fate.SAME:
        return [", ".join(f"`{p.key}`" for p in properties) + "."]
    if fate is Fate.RENAMED:
        return ["| Java's property | librdkafka's |", "|---|---|", *(f"| `{p.key}` | `{p.to}` |" for p in properties)]
    heading = "what it becomes" if fate is Fate.CONVERTED else "why"
    return [f"| Java's property | {heading} |", "|---|---|", *(f"| `{p.key}` | {p.why} |" for p in properties)]


if __name__ == "__main__":
    PAGE.write_text(page())
