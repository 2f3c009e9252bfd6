"""A secret in any option appears in no output, plan, log, event log, checkpoint, page or other file of Spark.

``tests/unit/test_planted_secrets.py`` tests the outputs that need no Spark.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from kafka_sql.runtime.worker_main import installed_command
from tests.planted_secrets import find_leaks, planted_secrets
from tests.topics import Topics

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]  # starts a Spark that logs everything

ROOT = Path(__file__).parents[2]
LOG = """\
rootLogger.level = info
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %p %c{1}: %m%n%ex
# otherwise, PySpark raises the level to WARN
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = info
"""


@pytest.mark.long
def test_secrets_appear_nowhere(topics: Topics, tmp_path: Path) -> None:
    folder, secrets = tmp_path / "spark", tmp_path / "secrets.json"
    for name in ("events", "local", "tmp"):
        (folder / name).mkdir(parents=True)
    (tmp_path / "log4j2.properties").write_text(LOG)
    secrets.write_text(json.dumps([asdict(secret) for secret in planted_secrets()]))
    names = (topics.bootstrap, topics.create(), topics.create())
    done = subprocess.run(
        [sys.executable, ROOT / "tests/integration/planted_secrets_driver.py", folder, *names, secrets],
        capture_output=True,
        text=True,
        check=False,
        timeout=580,
        cwd=folder,
        env={
            **os.environ,
            "SPARK_LOCAL_DIRS": str(folder / "local"),
            "TMPDIR": str(folder / "tmp"),
            "SPARK_SUBMIT_OPTS": " ".join(
                (os.environ.get("SPARK_SUBMIT_OPTS", ""), f"-Dlog4j2.configurationFile={tmp_path}/log4j2.properties")
            ),
            "PYSPARK_PYTHON": str(installed_command()),
            "PYTHONPATH": str(ROOT),
        },
    )
    assert done.returncode == 0, done.stderr[-5000:]
    (folder / "stdout").write_text(done.stdout)
    (folder / "stderr").write_text(done.stderr)
    assert "LEAK" not in done.stdout
    assert "NO ERROR" not in done.stdout
    assert find_leaks(folder, planted_secrets()) == []
    # the files and outputs exist, and show the options
    assert "INFO DAGScheduler: " in done.stderr
    lines = done.stdout.splitlines()
    assert "x X" in lines
    assert "count 2" in lines
    assert "  'properties.sasl.password' = '******'," in lines
    files = [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()]
    assert {path.parts[0] for path in files} >= {"checkpoints", "events", "pages", "processes"}
    (log,) = (path for path in files if path.name.startswith("events_"))
    assert "SparkListenerSQLExecutionStart" in (folder / log).read_text()
