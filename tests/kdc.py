"""A Kerberos of one's own: MIT's KDC in a folder, for which krb5kdc, kdb5_util and kadmin.local must be on the PATH."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from kafka_sql.embedded.wire import free_ports

REALM: Final = "TEST.LOCAL"
PROGRAMS: Final = ("krb5kdc", "kdb5_util", "kadmin.local")


def missing() -> list[str]:
    """The programs that are not installed."""
    return [name for name in PROGRAMS if shutil.which(name) is None]


class Kdc:
    """A running KDC.

    Attributes:
        environment: by which Kerberos' libraries find it; ``config`` is the file for Java.
    """

    def __init__(self, folder: Path) -> None:
        (port,) = free_ports(1)
        self.folder, self.config = folder, folder / "krb5.conf"
        self.environment = {
            "KRB5_CONFIG": str(self.config),
            "KRB5_KDC_PROFILE": str(folder / "kdc.conf"),
            "KRB5CCNAME": f"FILE:{folder}/tickets",
        }
        plugins = os.environ.get("KRB5_TEST_PLUGINS")  # where the programs are not in their usual place
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
        self._run("kdb5_util", "create", "-s", "-P", "master", "-r", REALM)
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
        raise AssertionError("krb5kdc ended at its start")

    def keytab(self, principal: str) -> Path:
        """A new principal's."""
        path = self.folder / f"{principal.replace('/', '-')}.keytab"
        self._run("kadmin.local", "addprinc", "-randkey", principal)
        self._run("kadmin.local", "ktadd", "-k", str(path), principal)
        return path

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.communicate()

    def _run(self, *command: str) -> None:
        environment = {**os.environ, **self.environment}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stdout + done.stderr
