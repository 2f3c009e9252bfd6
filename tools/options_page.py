"""Writes docs/options.md from the options tables: ``python -m tools.options_page``."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kafka_sql.formats.registry import FORMATS
from kafka_sql.options import Option
from kafka_sql.options.connector import KAFKA_OPTIONS, UPSERT_OPTIONS
from kafka_sql.options.unsupported import UNSUPPORTED
from kafka_sql.sql.jobs.settings import SETTINGS

PAGE = Path(__file__).parent.parent / "docs" / "options.md"


def page() -> str:
    """The whole page."""
    return "\n".join(
        [
            "# Options",
            "",
            "This page is made from the options tables in the code (`make docs-options`).",
            "",
            "## The connector: `WITH ('connector' = 'kafka', ...)`",
            "",
            *table(KAFKA_OPTIONS),
            "## The connector: `WITH ('connector' = 'upsert-kafka', ...)`",
            "",
            "The options of 'kafka', except these, which it does not have:",
            ", ".join(f"`{o.key}`" for o in KAFKA_OPTIONS if o.key not in {u.key for u in UPSERT_OPTIONS}) + ".",
            "What differs or is its own:",
            "",
            *table(o for o in UPSERT_OPTIONS if o not in KAFKA_OPTIONS),
            "## Not supported on Spark",
            "",
            "These are refused for good:",
            "",
            "| option | supported | why |",
            "|---|---|---|",
            *(
                f"| `{o.key}` | {', '.join(f'`{v}`' for v in built) or 'none'} | {why} |"
                for o, built, why in UNSUPPORTED
            ),
            "",
            "## Formats",
            "",
            "With `'format' = 'json'` the keys are as below; with `'value.format' = 'json'` they begin with `value.`,",
            "with `'key.format' = 'json'` with `key.`: `key.json.ignore-parse-errors`.",
            "",
            *table(option for name in sorted(FORMATS) for option in FORMATS[name].options),
            "## The session: `SET 'key' = 'value'`",
            "",
            *table(SETTINGS.values()),
            "## The client: `properties.*`",
            "",
            "Every property of Kafka's Java clients, and librdkafka's own: [properties.md](properties.md) says of each",
            "what becomes of it.",
            "",
        ]
    )


def table(options: Iterable[Option[Any]]) -> list[str]:
    """A row an option."""
    rows = ["| option | required | default | type | |", "|---|---|---|---|---|"]
    for option in options:
        kind = option.type if option.type != "Enum" else " \\| ".join(f"`{v}`" for v in option.allowed)
        default = f"`{option.default}`" if option.default is not None else "(none)"
        required = "required" if option.required else "optional"
        also = "".join(f" Also: `{key}`." for key in option.aliases)
        old = also + "".join(f" Deprecated key: `{key}`." for key in option.deprecated_keys)
        rows.append(f"| `{option.key}` | {required} | {default} | {kind} | {option.doc}{old} |")
    return [*rows, ""]


if __name__ == "__main__":
    PAGE.write_text(page())
