"""``python -m dbt_kafka_sql``: print the path of the dbt package, for ``packages.yml``."""

from pathlib import Path

if __name__ == "__main__":
    print(Path(__file__).parent)
