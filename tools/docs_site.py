"""Add files outside ``docs`` that are linked from there as pages of the site (a hook of mkdocs).

In the repository, ``../ddl_examples/joins.sql`` is the file itself. On the site, it is a page that shows the file.
"""

from __future__ import annotations

import json
import posixpath
import re
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
FOLDER: Final = "ddl_examples"
PAGES: Final = "examples"
PROJECT: Final = {name: f"project/{name.lower()}" for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")}
_LINK: Final = re.compile(rf"\]\((?:\.\./)+(?:{FOLDER}(?:/([\w./-]*))?|({'|'.join(PROJECT)})(#[\w-]+)?)\)")
_FENCE: Final = "````"
_LANGUAGES: Final = {".sql": "sql", ".py": "python", ".yml": "yaml", ".proto": "protobuf", ".ipynb": "json"}


def example_pages() -> dict[str, str]:
    """Return path -> page for each file or folder in ``ddl_examples``, and an index page."""
    folder = ROOT / FOLDER
    pages, rows = {}, []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(("_", ".")) or (path.is_file() and path.suffix not in _LANGUAGES):
            continue
        title = path.name
        text = "\n".join(
            _render(f, folder) for f in ([path] if path.is_file() else sorted(path.rglob("*"))) if _text(f)
        )
        if text:
            pages[f"{PAGES}/{title}.md"] = f"# {title}\n\n{text}"
            rows.append(f"| [{title}]({title}.md) | {_first_comment(path)} |")
    pages[f"{PAGES}/index.md"] = "# Examples\n\nAll examples are tested.\n\n| | |\n|---|---|\n" + "\n".join(rows) + "\n"
    return pages


def replace_links(markdown: str, page: str) -> str:
    """Return the text of a page, with links to files outside ``docs`` replaced by links to their pages.

    Args:
        markdown: the text of the page.
        page: its path below ``docs``, such as ``formats/json.md``.
    """

    def target(match: re.Match[str]) -> str:
        name = (match[1] or "index").strip("/").split("/")[0]
        to = PROJECT[match[2]] if match[2] else f"{PAGES}/{name}.md"
        return f"]({posixpath.relpath(to, posixpath.dirname(page) or '.')}{match[3] or ''})"

    return _LINK.sub(target, markdown)


def on_files(files: Any, config: Any) -> Any:
    """Add the pages to the site's files (called by mkdocs)."""
    from mkdocs.structure.files import File

    for path, text in example_pages().items():
        files.append(File.generated(config, path, content=text))
    for name, path in PROJECT.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, path, content=re.sub(r"\]\(docs/", "](../", text)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Replace the links in a page (called by mkdocs)."""
    return replace_links(markdown, page.file.src_uri)


def _text(path: Path) -> bool:
    return path.is_file() and path.suffix in _LANGUAGES and "__pycache__" not in path.parts


def _render(path: Path, folder: Path) -> str:
    name, text = path.relative_to(folder).as_posix(), path.read_text(encoding="utf-8").rstrip()
    if path.suffix == ".ipynb":
        return "\n".join(map(_cell, json.loads(text)["cells"]))
    return f"`{name}`\n\n{_FENCE}{_LANGUAGES[path.suffix]}\n{text}\n{_FENCE}\n"


def _cell(cell: dict[str, Any]) -> str:
    text = "".join(cell["source"]).replace("# ", "## ", 1) if cell["cell_type"] == "markdown" else ""
    return text + "\n" if text else f"{_FENCE}python\n{''.join(cell['source'])}\n{_FENCE}\n"


def _first_comment(path: Path) -> str:
    if path.suffix != ".sql":
        return ""
    first = path.read_text(encoding="utf-8").partition("\n")[0]
    return first.removeprefix("--").strip() if first.startswith("--") else ""
