"""Choose the folder in which numba caches a module's compiled loops.

numba keys an entry only by the file of the loop. Helpers and constants of other modules are compiled into the loop
too, so numba would use an outdated entry after a change to them. The folder's name therefore contains a hash of the
module and of every module of the package that it imports, directly or not. numba itself adds its version, Python's, and
the CPU.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from kafka_sql.runtime.private_files import create_private_folder, create_user_folder, is_writable_by_others

_IMPORT: Final = re.compile(r"^(?:from ([\w.]+) import (\([^)]*\)|[^\n]*)|import ([\w.]+))", re.MULTILINE)
_NAME: Final = re.compile(r"\w+(?= as |,|\)|\s*$|\s*#|\n)")
_PREFIX: Final = "compiled-"


def cache_folder(module: str) -> str | None:
    """Return the folder for the loops of a module, created if necessary; None if none can be written.

    The candidates are NUMBA_CACHE_DIR, beside the module (``__pycache__``), the user's cache folder, and a private
    folder among the temporary files: an executor may have neither a writable installation nor a home. A folder that
    other users can write is not used. Folders of the module's earlier sources are removed.

    Args:
        module: its dotted name. It must have been imported from a file.
    """
    file = Path(str(sys.modules[module].__file__))
    name = f"{_PREFIX}{module}-{source_hash(module)}"
    for parent in _parents(file):
        folder = parent / name
        with contextlib.suppress(OSError):
            if not folder.is_dir():
                folder.mkdir(mode=0o700, parents=True)
                _remove_stale(folder, module)
            if os.access(folder, os.W_OK) and not is_writable_by_others(folder.stat()):
                return str(folder)
    return None


def source_hash(module: str) -> str:
    """Return a hash of a module's source and of the sources it imports from its own package."""
    digest = hashlib.sha256()
    for name, source in sorted(_sources(module).items()):
        digest.update(f"{name}\n{len(source)}\n".encode())
        digest.update(source)
    return digest.hexdigest()[:16]


def _parents(file: Path) -> Iterator[Path]:
    """Yield the folders that may contain the cache of the module in ``file``, best first."""
    if configured := os.environ.get("NUMBA_CACHE_DIR"):
        with contextlib.suppress(OSError):
            create_private_folder(Path(configured))
            yield Path(configured)
    yield file.parent / "__pycache__"
    with contextlib.suppress(RuntimeError):  # the user has no home
        if (home := create_user_folder(os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"))) is not None:
            yield Path(home)
    if (temporary := create_user_folder(tempfile.gettempdir())) is not None:
        yield Path(temporary)


def _remove_stale(folder: Path, module: str) -> None:
    """Remove the folders of earlier sources of the module, which are siblings of its new folder."""
    stale = re.compile(rf"{_PREFIX}{re.escape(module)}-[0-9a-f]{{16}}")
    for sibling in folder.parent.iterdir():
        if sibling != folder and stale.fullmatch(sibling.name):
            shutil.rmtree(sibling, ignore_errors=True)


_read: Final[dict[str, tuple[bytes, list[str]]]] = {}  # module -> its source and the modules it imports


def _sources(module: str) -> dict[str, bytes]:
    """Return the sources of a module and of all modules that it imports from its package, by module name."""
    sources: dict[str, bytes] = {}
    pending = [module]
    while pending:
        name = pending.pop()
        if name in sources:
            continue
        if name not in _read:
            source = Path(str(sys.modules[name].__file__)).read_bytes()
            _read[name] = source, list(_imports(source.decode(), name.partition(".")[0]))
        sources[name], imports = _read[name]
        pending += imports
    return sources


def _imports(source: str, package: str) -> Iterator[str]:
    """Yield the loaded modules of the package that a source imports. When a loop is compiled, all of them are."""
    for statement in _IMPORT.finditer(source):
        module, names, imported_module = statement.groups()
        candidates = [imported_module] if imported_module else [f"{module}.{name}" for name in _NAME.findall(names)]
        loaded = [name for name in candidates if _is_loaded_module(name, package)]
        yield from loaded
        if module and len(loaded) < len(candidates) and _is_loaded_module(module, package):
            yield module


def _is_loaded_module(name: str, package: str) -> bool:
    return name.startswith(f"{package}.") and getattr(sys.modules.get(name), "__file__", None) is not None
