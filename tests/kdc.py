"""Run MIT Kerberos' KDC in a folder, and a broker that uses it. The KDC's programs must be on the PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from kafka_sql.embedded import EmbeddedKafka
from kafka_sql.embedded.loopback import free_ports

REALM: Final = "TEST.LOCAL"
PROGRAMS: Final = ("krb5kdc", "kdb5_util", "kadmin.local")
LOGIN: Final = "com.sun.security.auth.module.Krb5LoginModule required"
SERVICES: Final = ("kafka", "events")  # of the broker's listeners


def missing_programs() -> list[str]:
    """Return the programs that are not installed."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


class Kdc:
    """A running KDC.

    Attributes:
        environment: environment variables for Kerberos libraries.
        config: the configuration file, for Java.
    """

    def __init__(self, folder: Path) -> None:
        (port,) = free_ports(1)
        self.folder, self.config = folder, folder / "krb5.conf"
        self.environment = {
            "KRB5_CONFIG": str(self.config),
            "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
            "KRB5CCNAME": f"FILE:{folder}/tickets",
        }
        plugins = os.environ.get("KRB5_TEST_PLUGINS")  # if the programs are not installed in their default location
        modules = f"[dbmodules]\n db_module_dir = {plugins}\n" if plugins else ""
        self.config.write_text(
            f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n rdns = false\n"
            f" dns_canonicalize_hostname = false\n udp_preference_limit = 1\n"
            f"[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{port}\n }}\n[domain_realm]\n localhost = {REALM}\n"
        )
        (folder / "kdc.conf").write_text(
            f"[kdcdefaults]\n kdc_listen = 127.0.0.1:{port}\n kdc_tcp_listen = 127.0.0.1:{port}\n"
            f"[realms]\n {REALM} = {{\n  database_name = {folder}/principal\n  key_stash_file = {folder}/stash\n"
            f"  supported_enctypes = aes256-cts-hmac-sha1-96:normal\n }}\n{modules}"
        )
        self.run("kdb5_util", "create", "-s", "-P", "master", "-r", REALM)
        self._process = subprocess.Popen(
            ["krb5kdc", "-n"],
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if "starting" in line or "commencing" in line:
                return
        raise AssertionError("krb5kdc failed to start")

    def keytab(self, principal: str) -> Path:
        """Create a principal and return its keytab."""
        path = self.folder / f"{principal.replace('/', '-')}.keytab"
        self.run("kadmin.local", "addprinc", "-randkey", principal)
        self.run("kadmin.local", "ktadd", "-k", str(path), principal)
        return path

    def stop(self) -> None:
        """Stop the KDC."""
        self._process.terminate()
        self._process.communicate()

    def run(self, *command: str) -> str:
        """Run a Kerberos program and return its output."""
        environment = {**os.environ, **self.environment}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@dataclass(frozen=True)
class KerberosBroker:
    """A broker that requires Kerberos, and its KDC. The environment of this process is configured for the KDC.

    Attributes:
        ports: by service name.
        plaintext_servers: the listener without authentication.
    """

    kdc: Kdc
    ports: dict[str, int]
    plaintext_servers: str

    def properties(self, jaas: str, service: str = "kafka") -> dict[str, str]:
        """Return Java's properties for a client.

        Args:
            jaas: the options of the login module.
        """
        return {
            "bootstrap.servers": f"localhost:{self.ports[service]}",
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "GSSAPI",
            "sasl.kerberos.service.name": service,
            "sasl.jaas.config": f"{LOGIN} {jaas};",
        }

    def log_in(self, keytab: Path, principal: str) -> None:
        """Get a ticket for a principal."""
        self.kdc.run("kinit", "-kt", str(keytab), principal)

    def log_out(self) -> None:
        """Destroy the tickets."""
        self.kdc.run("kdestroy", "-A", "-q")

    def tickets(self) -> str:
        """Return the list of tickets (klist)."""
        return self.kdc.run("klist")


@contextmanager
def kerberos_broker(folder: Path) -> Iterator[KerberosBroker]:
    """Run the KDC and the broker for a ``with`` block."""
    with pytest.MonkeyPatch.context() as patched:
        kdc = Kdc(folder)
        for key, value in kdc.environment.items():
            patched.setenv(key, value)
        ports = dict(zip(SERVICES, free_ports(len(SERVICES)), strict=True))
        addresses = ",".join(f"{name.upper()}://localhost:{port}" for name, port in ports.items())
        properties: dict[str, str | int | bool] = {
            "listeners": addresses,
            "advertised.listeners": addresses,
            "listener.security.protocol.map": ",".join(f"{name.upper()}:SASL_PLAINTEXT" for name in ports),
        }
        for name in ports:
            prefix, principal = f"listener.name.{name}", f"{name}/localhost"
            properties |= {
                f"{prefix}.sasl.enabled.mechanisms": "GSSAPI",
                f"{prefix}.sasl.kerberos.service.name": name,
                f"{prefix}.gssapi.sasl.jaas.config": f"{LOGIN} useKeyTab=true storeKey=true doNotPrompt=true "
                f'keyTab="{kdc.keytab(principal)}" principal="{principal}@{REALM}";',
            }
        with pytest.MonkeyPatch.context() as java:
            java.setenv("JDK_JAVA_OPTIONS", f"-Djava.security.krb5.conf={kdc.config}")
            kafka = EmbeddedKafka(properties=properties).start()
        try:
            yield KerberosBroker(kdc, ports, kafka.bootstrap_servers)
        finally:
            kafka.stop()
            kdc.stop()
