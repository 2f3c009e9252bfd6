"""What a Spark worker loads only to plan: each of five kinds of them starts anew in every session."""

import subprocess
import sys

HEAVY = ("numba", "llvmlite", "pandas", "httpx", "sqlglot", "fastavro", "google.protobuf")

PLANNER = f"""
import sys
import kafka_sql.catalog.provider
from kafka_sql.formats.registry import FORMATS
for identifier in FORMATS:
    FORMATS[identifier]
print([name for name in {HEAVY} if name in sys.modules])
"""


def test_a_planner_loads_no_compiler() -> None:
    done = subprocess.run([sys.executable, "-c", PLANNER], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
