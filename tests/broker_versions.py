"""Run embedded brokers of other versions or with other features.

``KAFKA_SQL_TEST_VERSION``: a version of Apache Kafka, downloaded with Ivy at its first use.
``KAFKA_SQL_TEST_FEATURES``: features to finalize in addition to the defaults, for example ``transaction.version=2``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kafka_sql.embedded import EmbeddedKafka, cluster, watchdog
from kafka_sql.embedded.ivy import retrieve
from kafka_sql.embedded.jars import KAFKA_VERSION, cache_folder, ivy_jar, ivy_settings, kafka_jars
from kafka_sql.embedded.java import find_java
from kafka_sql.embedded.loopback import HOST, free_ports
from kafka_sql.embedded.node import Node, fetch_cluster_state
from kafka_sql.embedded.settings import Properties, server_properties
from tools.quick_java import FAST

_FEATURES = Path(__file__).parent / "integration/java/Features.java"
_MODULE = """<ivy-module version="2.0"><info organisation="test" module="test"/>
<dependencies><dependency org="org.apache.kafka" name="kafka_2.13" rev="{}" conf="default"/></dependencies></ivy-module>
"""
_WITHOUT_ZOOKEEPER = (3, 0)  # the first version whose KRaft supports transactions
_KRAFT_ONLY = ("process.roles", "node.id", "controller.")  # prefixes of properties


def use_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make embedded brokers use the configured version."""
    version = os.environ.get("KAFKA_SQL_TEST_VERSION")
    if version:
        jars = jars_of(version)
        monkeypatch.setattr(cluster, "kafka_jars", lambda _: jars)


@contextmanager
def start_version(version: str, properties: Properties) -> Iterator[EmbeddedKafka]:
    """Run a broker of a version for a ``with`` block; with ZooKeeper if the version's KRaft has no transactions.

    Args:
        version: of Apache Kafka, with three numbers.
        properties: broker settings.
    """
    with pytest.MonkeyPatch.context() as patched:
        if version == KAFKA_VERSION:
            with EmbeddedKafka(properties=properties) as kafka:
                yield kafka
            return
        jars = jars_of(version)
        patched.setattr(cluster, "kafka_jars", lambda _: jars)
        if release(version) >= _WITHOUT_ZOOKEEPER:
            with EmbeddedKafka(properties=properties) as kafka:
                yield kafka
            return
        with _zookeeper(jars) as port:
            patched.setattr(cluster, "server_properties", lambda *of_node: _with_zookeeper(port, *of_node))
            patched.setattr(cluster, "format_storage", lambda *_: None)  # the broker does it
            patched.setattr(Node, "sees_nodes", _sees_nodes)
            with EmbeddedKafka(properties=properties) as kafka:
                yield kafka


def release(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version."""
    return tuple(int(number) for number in version.split(".")[:2])


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


@contextmanager
def _zookeeper(jars: list[Path]) -> Iterator[int]:
    """Run the ZooKeeper among the jars until this process exits. Yield its port; brokers wait until it is ready."""
    (port,) = free_ports(1)
    folder = tempfile.mkdtemp(prefix="kafka_sql-zookeeper-")
    command = [find_java(), "-Xmx128m", *FAST, "-Dzookeeper.admin.enableServer=false"]
    command += [
        "-cp",
        os.pathsep.join(map(str, jars)),
        "org.apache.zookeeper.server.ZooKeeperServerMain",
        str(port),
        folder,
    ]
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(watchdog.__file__), folder, *command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    with process:  # closes its input, at which the watchdog stops ZooKeeper and removes the folder
        yield port


def _with_zookeeper(
    zookeeper: int, node: int, ports: list[int], controllers: list[int], overrides: Properties
) -> dict[str, str]:
    settings = server_properties(node, ports, controllers, overrides)
    zookeeper_settings = {key: value for key, value in settings.items() if not key.startswith(_KRAFT_ONLY)}
    listeners = [
        listener for listener in zookeeper_settings["listeners"].split(",") if not listener.startswith("CONTROLLER:")
    ]
    zookeeper_settings |= {
        "broker.id": str(node),
        "zookeeper.connect": f"{HOST}:{zookeeper}",
        "listeners": ",".join(listeners),
    }
    return zookeeper_settings


def _sees_nodes(node: Node, expected: set[int]) -> bool:
    """Return whether the broker is ready. The cluster id is ZooKeeper's."""
    state = fetch_cluster_state(node.port)
    return state is not None and expected <= state.nodes
