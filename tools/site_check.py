"""Check the pages of the built site: ``python -m tools.site_check build/site`` (a part of make docs).

mkdocs checks links between Markdown files. This checks the HTML: that links, anchors, pictures, scripts and the search
index refer to existing files, that pages load nothing from other hosts, and that pictures have a text alternative.
"""

from __future__ import annotations

import json
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

_LOADED: Final = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
_ERROR_PAGE: Final = "404.html"  # served at any path, so its links are absolute


class Page(HTMLParser):
    """The links and anchors of a page.

    Attributes:
        links: the targets of ``<a>``.
        loaded: the addresses of scripts, style sheets and pictures.
        ids: the anchors.
        problems: what is wrong in the page itself.
    """

    def __init__(self, text: str) -> None:
        """Parse a page."""
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.ids: set[str] = set()
        self.problems: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect the attributes of an element."""
        values = dict(attrs)
        identifier, link = values.get("id"), values.get("href")
        if identifier:
            self.ids.add(identifier)
        if tag == "a" and link:
            self.links.append(link)
        address = values.get(_LOADED.get(tag, ""))
        if address and values.get("rel") != "canonical":
            self.loaded.append(address)
        if tag == "img" and not values.get("alt"):
            self.problems.append(f"picture {address} has no text alternative")


def find_problems(site: Path) -> list[str]:
    """Return what is wrong with a site, as ``page: problem``."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    problems = []
    for path, page in pages.items():
        if path.name == _ERROR_PAGE:
            continue
        found = [*page.problems, *(f"loads {address}" for address in page.loaded if urlsplit(address).netloc)]
        for target in [*page.links, *page.loaded]:
            if not urlsplit(target).scheme and not urlsplit(target).netloc:
                found += _target_problems(site, pages, path, target)
        problems += [f"{path.relative_to(site)}: {problem}" for problem in found]
    return problems + _search_problems(site, pages)


def _target_problems(site: Path, pages: dict[Path, Page], page: Path, target: str) -> list[str]:
    parts = urlsplit(target)
    file = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    file = file / "index.html" if file.is_dir() else file
    if not file.is_relative_to(site) or not file.is_file():
        return [f"{target} does not exist"]
    if parts.fragment and file in pages and unquote(parts.fragment) not in pages[file].ids:
        return [f"{target}: the page has no such anchor"]
    return []


def _search_problems(site: Path, pages: dict[Path, Page]) -> list[str]:
    """Return entries of the search index without a page, and pages without an entry."""
    index = site / "search" / "search_index.json"
    if not index.is_file():
        return ["the site has no search index"]
    locations = [entry["location"] for entry in json.loads(index.read_text(encoding="utf-8"))["docs"]]
    home = site / "index.html"
    problems = [f"search: {problem}" for at in locations for problem in _target_problems(site, pages, home, at or ".")]
    indexed = {(site / urlsplit(location).path / "index.html").resolve() for location in locations}
    missing = [path for path in pages if path not in indexed and path.name != _ERROR_PAGE]
    return problems + [f"search: {path.relative_to(site)} is not in the index" for path in missing]


def main() -> int:
    """Print the problems. The exit code is 1 if there are any."""
    problems = find_problems(Path(sys.argv[1]).resolve())
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
