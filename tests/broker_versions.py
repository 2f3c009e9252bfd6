"""Run embedded brokers of another version or with other features, as configured by two environment variables.

``KAFKA_SQL_TEST_VERSION``: a version of Apache Kafka, downloaded with Ivy at its first use.
``KAFKA_SQL_TEST_FEATURES``: features to finalize in addition to the defaults, for example ``transaction.version=2``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from kafka_sql.embedded import EmbeddedKafka, cluster
from kafka_sql.embedded.ivy import retrieve
from kafka_sql.embedded.jars import cache_folder, ivy_jar, ivy_settings, kafka_jars
from kafka_sql.embedded.java import find_java

_FEATURES = Path(__file__).parent / "integration/java/Features.java"
_MODULE = """<ivy-module version="2.0"><info organisation="test" module="test"/>
<dependencies><dependency org="org.apache.kafka" name="kafka_2.13" rev="{}" conf="default"/></dependencies></ivy-module>
"""


def use_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make embedded brokers use the configured version."""
    version = os.environ.get("KAFKA_SQL_TEST_VERSION")
    if version:
        jars = jars_of(version)
        monkeypatch.setattr(cluster, "kafka_jars", lambda _: jars)


def finalize_features(kafka: EmbeddedKafka) -> None:
    """Finalize the configured features, and wait until they are."""
    features = os.environ.get("KAFKA_SQL_TEST_FEATURES", "").split()
    if not features:
        return
    java = find_java()
    command = [java, "-cp", os.pathsep.join(map(str, kafka_jars(java))), str(_FEATURES), kafka.bootstrap_servers]
    done = subprocess.run([*command, *features], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert set(features) <= set(done.stdout.splitlines()), done.stdout


def jars_of(version: str) -> list[Path]:
    """Return the jars of a version and its dependencies; downloaded once."""
    folder = cache_folder() / f"tests-kafka-{version}"
    if not folder.exists():
        partial = Path(f"{folder}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        (partial / "ivy.xml").write_text(_MODULE.format(version))
        settings = partial / "settings.xml"
        settings.write_text(ivy_settings().read_text().replace('usepoms="false"', 'usepoms="true"'))
        retrieve(find_java(), ivy_jar(), settings, partial, 50, name=f"Apache Kafka {version}")
        (partial / "jars").rename(folder)
        shutil.rmtree(partial)
    return sorted(folder.glob("*.jar"))
