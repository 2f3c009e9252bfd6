"""Run Flink's test programs, and print their outcomes: ``python -m tests.flink_programs [--write] [PATTERN]``.

PATTERN is a regular expression that is searched in ``CLASS NAME``. With ``--write``, the outcomes become the expected
ones, in ``outcomes.txt``; then write the reasons of differences there, and run ``make docs-options``.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile

from pyspark.sql import SparkSession

import kafka_sql
from kafka_sql.runtime.worker_main import installed_command
from tests.broker import choice_from_environment, start_broker
from tests.flink_programs.outcomes import write_outcomes
from tests.flink_programs.programs import read_programs
from tests.flink_programs.run import run_programs
from tests.java_names import keep_java_names
from tests.topics import Topics
from tools.build_jar import build_jar


def main() -> None:
    """Run the programs that match."""
    parser = argparse.ArgumentParser(prog="python -m tests.flink_programs", description=__doc__)
    parser.add_argument("pattern", nargs="?", default="")
    parser.add_argument("--write", action="store_true", help="make the outcomes the expected ones")
    parser.add_argument("--at-once", type=int, default=3, help="programs that run at the same time")
    arguments = parser.parse_args()
    build_jar()
    keep_java_names()
    os.environ["PYSPARK_PYTHON"] = installed_command() or sys.executable
    programs = [program for program in read_programs() if re.search(arguments.pattern, str(program))]
    with start_broker(choice_from_environment()) as broker, tempfile.TemporaryDirectory() as folder:
        builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
        builder = builder.config("spark.ui.showConsoleProgress", "false").config("spark.sql.warehouse.dir", folder)
        spark = kafka_sql.enable(builder.config("spark.sql.session.timeZone", "UTC").getOrCreate())
        spark.sparkContext.setLogLevel("OFF")
        for outcome in run_programs(spark, Topics(broker.bootstrap_servers), programs, arguments.at_once):
            print(f"{outcome.program}: {outcome.outcome}: {outcome.reason}", flush=True)
            if arguments.write:
                write_outcomes([outcome])
        spark.stop()


if __name__ == "__main__":
    main()
