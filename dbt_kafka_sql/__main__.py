"""``python -m dbt_kafka_sql`` prints where the dbt package lies, for ``packages.yml``."""

from pathlib import Path

if __name__ == "__main__":
    print(Path(__file__).parent)
