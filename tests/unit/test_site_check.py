"""The check of the built documentation finds each kind of error. make docs runs it on the site."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tools.site_check import find_problems

GOOD = """<html><head><link rel="canonical" href="https://example.com/">
<link rel="stylesheet" href="assets/a.css"></head>
<h1 id="top">A</h1><a href="b/#part">b</a> <a href="#top">top</a> <a href="https://example.com/x">x</a>
<img alt="a picture" src="assets/a.svg"></html>"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site with two pages and without problems."""
    for folder in ("b", "assets", "search"):
        (tmp_path / folder).mkdir()
    (tmp_path / "index.html").write_text(GOOD)
    (tmp_path / "404.html").write_text('<a href="/absolute/">a</a>')
    (tmp_path / "b/index.html").write_text('<h2 id="part">B</h2><a href="..">a</a>')
    for name in ("a.css", "a.svg"):
        (tmp_path / "assets" / name).touch()
    write_index(tmp_path, "", "b/", "b/#part")
    return tmp_path


def write_index(site: Path, *locations: str) -> None:
    entries = [{"location": location, "title": "", "text": ""} for location in locations]
    (site / "search/search_index.json").write_text(json.dumps({"docs": entries}))


def test_a_site_without_problems(site: Path) -> None:
    assert find_problems(site) == []


@pytest.mark.parametrize(
    ("element", "problem"),
    [
        ('<a href="c/">c</a>', "index.html: c/ does not exist"),
        ('<a href="../x">x</a>', "index.html: ../x does not exist"),
        ('<a href="b/#other">b</a>', "index.html: b/#other: the page has no such anchor"),
        ('<a href="#other">b</a>', "index.html: #other: the page has no such anchor"),
        ('<img src="assets/a.svg">', "index.html: picture assets/a.svg has no text alternative"),
        ('<img alt="x" src="assets/b.svg">', "index.html: assets/b.svg does not exist"),
        ('<script src="https://cdn.example.com/a.js"></script>', "index.html: loads https://cdn.example.com/a.js"),
        ('<link rel="preload" href="//cdn.example.com/a">', "index.html: loads //cdn.example.com/a"),
    ],
)
def test_problems_of_a_page(site: Path, element: str, problem: str) -> None:
    (site / "index.html").write_text(GOOD + element)
    assert find_problems(site) == [problem]


def test_problems_of_the_search_index(site: Path) -> None:
    write_index(site, "", "c/", "b/#other")
    assert find_problems(site) == [
        "search: c/ does not exist",
        "search: b/#other: the page has no such anchor",
    ]
    write_index(site, "")
    assert find_problems(site) == ["search: b/index.html is not in the index"]
    (site / "search/search_index.json").unlink()
    assert find_problems(site) == ["the site has no search index"]
