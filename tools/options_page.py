"""Generate docs/options.md from the option definitions: ``python -m tools.options_page``."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from kafka_sql.formats.registry import FORMATS
from kafka_sql.options import Option
from kafka_sql.options.connector import DYNAMIC_OPTIONS, KAFKA_OPTIONS, UPSERT_OPTIONS
from kafka_sql.sql.jobs.settings import SETTINGS

PAGE = Path(__file__).parent.parent / "docs" / "options.md"
_PLACEHOLDER = "<format>"


def page() -> str:
    """Return the content of the page."""
    upsert_keys = {option.key for option in UPSERT_OPTIONS}
    dynamic_keys = {option.key for option in DYNAMIC_OPTIONS}
    return "\n".join(
        [
            "# Options",
            "",
            "This page is generated from the option definitions in the code (`make docs-options`).",
            "",
            "## Connector `kafka`",
            "",
            *table(KAFKA_OPTIONS),
            "## Connector `upsert-kafka`",
            "",
            "`upsert-kafka` supports the options of `kafka`, except:",
            ", ".join(f"`{option.key}`" for option in KAFKA_OPTIONS if option.key not in upsert_keys) + ".",
            "The following options differ from those of `kafka`, or are additional:",
            "",
            *table(option for option in UPSERT_OPTIONS if option not in KAFKA_OPTIONS),
            "## Connector `dynamic-kafka`",
            "",
            "`dynamic-kafka` ([page](dynamic-kafka.md)) supports the options of `kafka`, except:",
            ", ".join(f"`{option.key}`" for option in KAFKA_OPTIONS if option.key not in dynamic_keys) + ".",
            "The following options differ from those of `kafka`, or are additional:",
            "",
            *table(option for option in DYNAMIC_OPTIONS if option not in KAFKA_OPTIONS),
            "## Formats",
            "",
            "With `'format' = 'json'`, the format's options are `json.*`. With `'value.format' = 'json'`, they need",
            "the prefix `value.`, and with `'key.format' = 'json'`, the prefix `key.`: `key.json.ignore-parse-errors`.",
            "",
            *format_tables(),
            "## Session: `SET 'key' = 'value'`",
            "",
            *table(SETTINGS.values()),
            "## Kafka client: `properties.*`",
            "",
            "All properties of Kafka's Java clients and of librdkafka are recognized. [properties.md](properties.md)",
            "describes how each is handled.",
            "",
        ]
    )


def format_tables() -> list[str]:
    """Return the tables of the formats' options. Options that several formats share are listed once."""
    formats_by_option: dict[Option[Any], list[str]] = {}
    for name in sorted(FORMATS):
        for option in FORMATS[name].options:
            formats_by_option.setdefault(_without_identifier(option, name), []).append(name)
    groups: dict[tuple[str, ...], list[Option[Any]]] = {}
    for option, names in formats_by_option.items():
        groups.setdefault(tuple(names), []).append(option)
    lines: list[str] = []
    for names in sorted(groups, key=lambda names: (-len(names), names)):
        options = groups[names]
        lines += [f"### {', '.join(f'`{name}`' for name in names)}", ""]
        if len(names) > 1:
            lines += [f"Replace `{_PLACEHOLDER}` with the format's identifier.", "", *table(options)]
        else:
            lines += table(_with_identifier(option, names[0]) for option in options)
    return lines


def table(options: Iterable[Option[Any]]) -> list[str]:
    """Return a Markdown table with one row per option."""
    rows = ["| option | required | default | type | description |", "|---|---|---|---|---|"]
    for option in options:
        value_type = _escape(option.type) if option.type != "Enum" else " \\| ".join(f"`{v}`" for v in option.allowed)
        default = "(none)" if option.default is None else f"`{option.default}`" if option.default else "(empty)"
        required = "required" if option.required else "optional"
        aliases = f" Aliases: {', '.join(f'`{key}`' for key in option.aliases)}." if option.aliases else ""
        deprecated = "".join(f" Deprecated key: `{key}`." for key in option.deprecated_keys)
        description = _escape(option.doc) + aliases + deprecated
        rows.append(f"| `{option.key}` | {required} | {default} | {value_type} | {description} |")
    return [*rows, ""]


def _escape(text: str) -> str:
    return text.replace("<", "&lt;")


def _without_identifier(option: Option[Any], name: str) -> Option[Any]:
    """Return the option with a placeholder for the format's identifier, and without its parser.

    What remains of an option that several formats share is equal in all of them.
    """
    key = _PLACEHOLDER + option.key.removeprefix(name)
    deprecated = tuple(_PLACEHOLDER + key.removeprefix(name) for key in option.deprecated_keys)
    doc = re.sub(rf"'({'|'.join(FORMATS)})\\.", f"'{_PLACEHOLDER}.", option.doc)
    return replace(option, key=key, deprecated_keys=deprecated, doc=doc, parse=str)


def _with_identifier(option: Option[Any], name: str) -> Option[Any]:
    key, *deprecated = (key.replace(_PLACEHOLDER, name) for key in (option.key, *option.deprecated_keys))
    return replace(option, key=key, deprecated_keys=tuple(deprecated), doc=option.doc.replace(_PLACEHOLDER, name))


if __name__ == "__main__":
    PAGE.write_text(page())
