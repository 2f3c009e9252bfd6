"""What Spark's Python planner processes import: each session starts five of them."""

import subprocess
import sys

HEAVY = ("numba", "llvmlite", "pandas", "httpx", "sqlglot", "fastavro", "google.protobuf")

PLANNER = f"""
import sys
import kafka_sql.catalog.data_source
from kafka_sql.formats.registry import FORMATS
for identifier in FORMATS:
    FORMATS[identifier]
print([name for name in {HEAVY} if name in sys.modules])
"""


def test_planning_imports_no_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", PLANNER], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# each process needs some of these, but not all
STEPS = ("pyarrow.compute", "confluent_kafka", "kafka_sql.sink", "kafka_sql.source.spark_readers")
TABLE = f"""
import sys
import kafka_sql.catalog.data_source
print([name for name in {STEPS} if name in sys.modules])
"""


def test_the_class_of_a_table_imports_neither_clients_nor_readers_nor_writers() -> None:
    done = subprocess.run([sys.executable, "-c", TABLE], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


DECLARED = f"""
import sys
import pyarrow as pa
from kafka_sql.formats.registry import FORMATS
from kafka_sql.options import Options
json, schema = FORMATS["json"], pa.schema([("a", pa.int64()), ("b", pa.struct([("c", pa.string())]))])
json.decoder(schema, Options(json.options, {{}}, ""))
json.encoder(schema, Options(json.options, {{}}, ""))
print([name for name in {HEAVY} if name in sys.modules])
"""


def test_a_declared_table_imports_no_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", DECLARED], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


DISCOVERED = f"""
import sys
import pyspark_kafka_sql
print([name for name in {(*HEAVY, "pyarrow", "confluent_kafka", "kafka_sql.definition")} if name in sys.modules])
"""


def test_the_data_source_that_spark_discovers_imports_very_little() -> None:
    done = subprocess.run([sys.executable, "-c", DISCOVERED], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
