"""Run a real schema registry on this machine: Apicurio Registry with its Confluent-compatible API."""

from __future__ import annotations

import hashlib
import select
import shutil
import signal
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Final

from kafka_sql.embedded.ivy import retrieve
from kafka_sql.embedded.jars import cache_folder, ivy_jar, ivy_settings, update_cache
from kafka_sql.embedded.java import find_java
from kafka_sql.embedded.loopback import HOST, free_ports
from kafka_sql.embedded.process import WatchedProcess
from kafka_sql.errors import EmbeddedKafkaError

VERSION: Final = "3.0.9"
SHA256: Final = "2b28181501a20cbf6efcd77f9b7153908fc01f3d3a7c32024c0bd9e1b04c8a43"
_UNPACKED_SHA256: Final = "7ab52a74ba3dce3ccaedf079ca6fd0bce8d451694591d1b2dd3c23d336af4d4f"  # see _checksum
_NAME: Final = f"Apicurio Registry {VERSION}"
_ARCHIVE: Final = f"apicurio-registry-app-{VERSION}-all.tar.gz"
_JAR: Final = f"apicurio-registry-app-{VERSION}-runner.jar"
_PATH: Final = "/apis/ccompat/v7"
_START_SECONDS: Final = 120.0
_STOP_SECONDS: Final = 10.0
_JVM: Final = ("-Xmx384m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_MODULE: Final = f"""<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">
  <info organisation="kafka_sql" module="registry"/>
  <configurations><conf name="default"/></configurations>
  <dependencies defaultconfmapping="default->default">
    <dependency org="io.apicurio" name="apicurio-registry-app" rev="{VERSION}" transitive="false">
      <artifact name="apicurio-registry-app" type="distribution" ext="tar.gz" m:classifier="all"/>
    </dependency>
  </dependencies>
</ivy-module>
"""


class EmbeddedRegistry(WatchedProcess):
    """A schema registry on 127.0.0.1 during a ``with`` block. It exits when this process exits.

    Schemas are stored in a temporary folder. They survive restart(), but not stop().

    Args:
        certificate: PEM file of a certificate. With ``key``, the registry also listens for HTTPS.
        key: PEM file of its private key.
    """

    def __init__(self, certificate: Path | None = None, key: Path | None = None) -> None:
        self._files = (certificate, key) if certificate is not None and key is not None else None
        self._port, self._secure_port = free_ports(2)
        self._folder: Path | None = None
        super().__init__(_NAME, Path("registry.log"))

    @property
    def url(self) -> str:
        """Value of 'avro-confluent.url'."""
        return f"http://{HOST}:{self._port}{_PATH}"

    @property
    def secure_url(self) -> str:
        """HTTPS URL of the registry."""
        return f"https://{HOST}:{self._secure_port}{_PATH}"

    def start(self) -> EmbeddedRegistry:
        """Start the registry and wait until it responds. The first start on a machine downloads 109 MB.

        Raises:
            EmbeddedKafkaError: no Java, no network, or it does not start (with the last lines of its log).
        """
        java = find_java()
        app = _unpacked_app(java)
        self._folder = self._folder or Path(tempfile.mkdtemp(prefix="kafka_sql_registry_"))
        settings = {
            "quarkus.http.host": HOST,
            "quarkus.http.port": self._port,
            "java.util.logging.manager": "org.jboss.logmanager.LogManager",
            "apicurio.datasource.url": f"jdbc:h2:file:{self._folder}/schemas",
        }
        if self._files is not None:
            settings |= {
                "quarkus.http.ssl-port": self._secure_port,
                "quarkus.http.ssl.certificate.files": self._files[0],
                "quarkus.http.ssl.certificate.key-files": self._files[1],
            }
        command = [java, *_JVM, *(f"-D{k}={v}" for k, v in settings.items()), "-jar", str(app / _JAR)]
        self.log = self._folder / "registry.log"
        self._launch(command, self._folder)
        deadline = time.monotonic() + _START_SECONDS
        while not self._responds():
            exited, _, _ = select.select([self], [], [], 0.1)
            if exited or time.monotonic() > deadline:
                problem = "exited during start-up" if exited else "was not ready in time"
                log_tail = self.log_tail()
                self.stop()
                raise EmbeddedKafkaError(f"{_NAME} {problem}:\n{log_tail}")
        return self

    def _responds(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/subjects", timeout=5) as response:
                return bool(response.status == 200)
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False

    def shut_down(self) -> None:
        """Stop the registry, and keep its port and schemas for the next start()."""
        self._signal(signal.SIGTERM)
        self.wait_for_exit(_STOP_SECONDS)

    def restart(self) -> None:
        """Restart the registry with the same port and schemas."""
        self.shut_down()
        self.start()

    def stop(self) -> None:
        """Stop the registry and delete its schemas. Does nothing if already stopped."""
        self.shut_down()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._folder = None

    def __enter__(self) -> EmbeddedRegistry:
        return self.start()

    def __exit__(
        self, error_type: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def _unpacked_app(java: str) -> Path:
    """Return the folder with the unpacked registry in the user's cache, downloading it if necessary.

    Its checksum is verified each time. Concurrent processes wait for the first one's download.
    """
    folder = cache_folder() / f"apicurio-{VERSION}"
    update_cache(folder, lambda: _checksum(folder) == _UNPACKED_SHA256, lambda partial: _download(java, partial), _NAME)
    return folder


def _checksum(folder: Path) -> str:
    """Return a SHA-256 of the names and contents of all files in a folder."""
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode())
    return digest.hexdigest()


def _download(java: str, partial: Path) -> Path:
    (partial / "ivy.xml").write_text(_MODULE)
    pattern = "jars/[artifact]-[revision](-[classifier]).[ext]"
    retrieve(java, ivy_jar(), ivy_settings(), partial, 1, _NAME, ("distribution",), pattern)
    archive = partial / "jars" / _ARCHIVE
    if hashlib.sha256(archive.read_bytes()).hexdigest() != SHA256:
        shutil.rmtree(partial)
        raise EmbeddedKafkaError(f"The download of {_NAME} does not match the expected SHA-256. Try again.")
    shutil.rmtree(partial / "app", ignore_errors=True)
    with tarfile.open(archive) as tar:
        tar.extractall(partial / "app", filter="data")
    return partial / "app"
