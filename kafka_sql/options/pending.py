"""What Flink's connector can do and this one cannot yet: checked like everything, then refused by name, never ignored.

One line an ability. Who builds it deletes the line.
"""

from __future__ import annotations

from typing import Any, Final

from kafka_sql.errors import OptionNotSupportedYetError
from kafka_sql.options import connector as opt
from kafka_sql.options.option import Option, Options

# the option, and those of its values that are built
PENDING: Final[tuple[tuple[Option[Any], tuple[str | int, ...]], ...]] = (
)


def refuse_pending(options: Options) -> None:
    """Refuse what is right and not built yet.

    Raises:
        OptionNotSupportedYetError: names the option, its value and those that are built.
    """
    for option, built in PENDING:
        if options.given(option) and options[option] not in built:
            possible = ("Supported: " + ", ".join(f"'{v}'" for v in built)) if built else "Leave it out"
            raise OptionNotSupportedYetError(
                f"Option '{option.key}' = '{options[option]}' is not supported yet. {possible}."
            )
