"""Print the path of the extension's jar for Spark's shells, and build it if it is missing: ``kafka-sql-extension``."""

import sys

from kafka_sql.errors import ExtensionError
from kafka_sql.extension.jar import build_jar


def main() -> int:
    """Print the jar's path and return 0, or print an error to stderr and return 1."""
    try:
        print(build_jar())
    except ExtensionError as e:
        print(e, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
