"""Known weaknesses of the locked dependencies: ``python -m tools.audit`` (make audit).

pip-audit asks PyPI for them, and where that cannot be reached, osv.dev. What cannot be asked is told as such and is an
error: no answer is not "no weakness".
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
    """0 where there is none that is known, 1 where there is, 2 where nobody could be asked."""
    pip = [sys.executable, "-m", "pip"]
    with tempfile.TemporaryDirectory() as folder:  # apart, as its dependencies are none of the project's
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
            unknown = "could not be audited" in done.stdout  # which pip-audit takes for no weakness
            if (done.returncode == 0 and not unknown) or ("vulnerabilit" in done.stderr and "Found" in done.stderr):
                print(done.stdout + done.stderr, end="")
                return done.returncode
            why = "it does not know the packages" if unknown else done.stderr.strip().splitlines()[-1:]
            print(f"{service} gives no answer: {why}", file=sys.stderr)
    print("The dependencies were NOT audited: no service could be asked.", file=sys.stderr)
    return _UNREACHABLE


if __name__ == "__main__":
    sys.exit(main())
