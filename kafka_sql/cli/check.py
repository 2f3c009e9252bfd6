"""``kafka-sql check``: check whether tables can be read and written."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kafka_sql.cli.arguments import parse

COMMAND = "check"
_HELP = """usage: kafka-sql check [TABLE ...] [OPTION ...]

Check with the brokers and the schema registry whether tables can be read and written. Prints one line per check: 'ok'
or the cause. No record is read or written. Without TABLE: all Kafka tables. The options are those of kafka-sql: use
--catalog FOLDER for the tables in a catalog folder, or -f FILE for a file that declares them.
"""
_NO_TABLES = "There is no Kafka table to check. Use -f FILE with its CREATE TABLE, or --catalog FOLDER."


def run(argv: Sequence[str]) -> int:
    """Run the command and return the exit code: 0 if all checks passed, 1 if one failed."""
    if {"-h", "-H", "--help"} & set(argv):
        print(_HELP, end="")
        return 0
    table_count = next((i for i, word in enumerate(argv) if word.startswith("-")), len(argv))
    arguments = parse(argv[table_count:])

    from kafka_sql.cli import script
    from kafka_sql.cli.runner import Runner
    from kafka_sql.cli.screen import Screen
    from kafka_sql.cli.spark_session import start_session
    from kafka_sql.sql.errors.spark_errors import error_message
    from kafka_sql.sql.session.check import iter_findings

    screen = Screen(arguments.silent)
    spark = start_session(arguments, screen)
    if spark is None:
        return 1
    failed, is_empty = False, True
    try:
        runner = Runner(spark, Screen(silent=True), arguments.verbose)
        script.run_sources(runner, [*(("file", path) for path in arguments.init), *arguments.sources])
        for finding in iter_findings(spark, *argv[:table_count]):
            screen.rows([str(finding)])
            failed, is_empty = failed or finding.ok is False, False
    except script.StatementFailed as e:
        return e.exit_code
    except Exception as e:  # noqa: BLE001  any error is reported in one line
        print(error_message(e), file=sys.stderr)
        return 1
    finally:
        spark.stop()
    if is_empty:
        screen.error(_NO_TABLES)
    return int(failed)
