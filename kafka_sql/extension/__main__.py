"""``kafka-sql-extension``: prints the path of the jar for Spark's shells."""

import sys

from kafka_sql.errors import ExtensionError
from kafka_sql.extension.jar import jar


def main() -> int:
    """The jar's path on stdout, and 0; or what went wrong on stderr, and 1."""
    try:
        print(jar())
    except ExtensionError as e:
        print(e, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
