"""Print the path of the jar for Spark's shells, which is part of this package: ``kafka-sql-extension``."""

from kafka_sql.spark.jar import JAR


def main() -> int:
    """Print the jar's path."""
    print(JAR)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
