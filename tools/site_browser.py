"""Look at the built site in Chromium: ``python -m tools.site_browser build/site [FOLDER]`` (a part of make docs).

Checks, in a wide and a narrow window, that no page reports an error or is wider than the window, that code blocks can
be copied, and that the search finds pages. With a folder, it stores pictures there. Without Playwright or a browser,
it says so and checks nothing.
"""

from __future__ import annotations

import functools
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

_BROWSERS: Final = ("chromium", "chromium-browser", "google-chrome")
_WINDOWS: Final = {"wide": (1280, 800), "narrow": (390, 800)}
_SEARCHES: Final = {"read_kafka": "read-kafka/", "TOPIC_NOT_FOUND": "troubleshooting/", "exactly-once": "exactly-once/"}
_PAGE_WITH_CODE: Final = "quick-start/"
_PICTURES: Final = ("", "quick-start/", "read-kafka/", "options/", "statements/")
# a table or a code block scrolls by itself; the page must not
_WIDTH: Final = "() => [document.documentElement.scrollWidth, window.innerWidth]"


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Log nothing."""


@contextmanager
def serve(site: Path) -> Iterator[str]:
    """Serve a folder on this machine, and yield its URL."""
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Handler, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def find_problems(browser: Any, site: Path, pictures: Path | None) -> list[str]:
    """Return what is wrong with the site in a browser, as ``page (window): problem``."""
    paths = [p.parent.relative_to(site).as_posix() for p in sorted(site.rglob("index.html"))]
    pages = [f"{path}/" if path != "." else "" for path in paths]
    problems = []
    with serve(site) as url:
        for window, (width, height) in _WINDOWS.items():
            page = browser.new_page(viewport={"width": width, "height": height})
            found: list[str] = []
            page.on("pageerror", lambda error, found=found: found.append(f"error {error}"))
            page.on("requestfailed", lambda request, found=found: found.append(f"{request.url} cannot be loaded"))
            page.on("response", lambda r, found=found: found.append(f"{r.url}: {r.status}") if r.status > 399 else None)
            for name in pages:
                page.goto(url + name)
                content, inner = page.evaluate(_WIDTH)
                if content > inner:
                    found.append(f"the page is {content} pixels wide")
                if pictures is not None and name in _PICTURES:
                    page.screenshot(path=pictures / f"{name.strip('/') or 'index'}-{window}.png")
                problems += [f"{name or 'index'} ({window}): {problem}" for problem in found]
                found.clear()
            page.goto(url + _PAGE_WITH_CODE)
            page.locator("pre").first.hover()
            if page.locator(".md-code__button").count() == 0:
                problems.append(f"{_PAGE_WITH_CODE} ({window}): a code block has no button to copy it")
            problems += [f"search ({window}): {problem}" for problem in _search_problems(page, url, pictures, window)]
            page.close()
    return problems


def _search_problems(page: Any, url: str, pictures: Path | None, window: str) -> Iterator[str]:
    for words, expected in _SEARCHES.items():
        page.goto(url)
        page.keyboard.press("/")
        page.locator("input.md-search__input").fill(words)
        results = page.locator(".md-search-result__link")
        try:
            results.first.wait_for(timeout=10_000)
        except Exception:  # noqa: BLE001  # Playwright's timeout, which only its package defines
            yield f"'{words}' finds nothing"
            continue
        if pictures is not None:
            page.screenshot(path=pictures / f"search-{expected.strip('/')}-{window}.png")
        links = [link.get_attribute("href") or "" for link in results.all()]
        if not any(expected in link for link in links):
            yield f"'{words}' does not find {expected}"


def main(site: str, *pictures: str) -> int:
    """Check a site and print the problems."""
    executable = next(filter(None, map(shutil.which, _BROWSERS)), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        print("The site was not checked in a browser: pip install playwright")
        return 0
    if executable is None:
        print(f"The site was not checked in a browser: none of {', '.join(_BROWSERS)} is installed")
        return 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=["--no-sandbox"])
        problems = find_problems(browser, Path(site).resolve(), Path(pictures[0]) if pictures else None)
        browser.close()
    print("\n".join(problems) or "The site has no problems in Chromium")
    return len(problems) > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
