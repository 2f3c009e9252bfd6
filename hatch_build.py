"""Hatch's hook, which compiles the Java sources when a wheel or an editable installation is built."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class JavaBuildHook(BuildHookInterface[Any]):
    """Builds the jar of the package."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the jar unless it is up to date."""
        sys.path.insert(0, str(Path(self.root)))
        from tools.build_jar import build_jar

        build_jar()
