"""Check the locked dependencies for known vulnerabilities: ``python -m tools.audit`` (make audit).

pip-audit queries PyPI or, if PyPI is unreachable, osv.dev. If neither responds, this is reported as an error, because
it does not mean that there are no vulnerabilities.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

_LOCK: Final = Path(__file__).parents[1] / "requirements.lock"
_SERVICES: Final = ("pypi", "osv")
_UNREACHABLE: Final = 2


def main() -> int:
    """Return 0 if there are no known vulnerabilities, 1 if there are, and 2 if no service could be reached."""
    pip = [sys.executable, "-m", "pip"]
    with tempfile.TemporaryDirectory() as folder:  # separate, because its dependencies are not those of the project
        if subprocess.run([*pip, "install", "--quiet", "--target", folder, "pip-audit>=2.9"], check=False).returncode:
            print("The dependencies were not audited: pip-audit cannot be installed.", file=sys.stderr)
            return _UNREACHABLE
        for service in _SERVICES:
            done = subprocess.run(
                [sys.executable, "-m", "pip_audit", "--vulnerability-service", service, "--requirement", str(_LOCK),
                 "--require-hashes", "--disable-pip", "--progress-spinner", "off"],
                env={**os.environ, "PYTHONPATH": folder},
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            unknown = "could not be audited" in done.stdout  # pip-audit does not treat this as an error
            if (done.returncode == 0 and not unknown) or ("vulnerabilit" in done.stderr and "Found" in done.stderr):
                print(done.stdout + done.stderr, end="")
                return done.returncode
            reason = "the packages are unknown" if unknown else done.stderr.strip().splitlines()[-1:]
            print(f"{service} did not respond: {reason}", file=sys.stderr)
    print("The dependencies were NOT audited: no service could be reached.", file=sys.stderr)
    return _UNREACHABLE


if __name__ == "__main__":
    sys.exit(main())
