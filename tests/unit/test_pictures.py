"""Pictures are up to date, and pages show them with a text alternative."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest

from benchmarks.page import PAGE, PICTURE, RESULTS, update_page
from benchmarks.picture import draw
from benchmarks.report import load
from tests.documents import ROOT, pages
from tools.pictures import FOLDER, PICTURES

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_is_up_to_date(name: str) -> None:
    text = (FOLDER / f"{name}.svg").read_text()
    assert text == PICTURES[name](), "run: make pictures"
    root = ET.fromstring(text)
    assert root.find(f"{SVG}title") is not None
    _, _, width, height = map(int, root.attrib["viewBox"].split())
    for box in root.findall(f"{SVG}rect")[1:]:
        assert int(box.attrib["x"]) + int(box.attrib["width"]) <= width
        assert int(box.attrib["y"]) + int(box.attrib["height"]) <= height
    for line in root.findall(f"{SVG}text"):
        assert 0 <= int(line.attrib["x"]) <= width
        assert 0 <= int(line.attrib["y"]) <= height


@pytest.mark.parametrize("name", PICTURES)
def test_a_page_shows_it_with_alternative_text(name: str) -> None:
    alternatives = [
        text for path in pages() for text in re.findall(rf"!\[([^\]]+)\]\(\S*{name}\.svg\)", path.read_text())
    ]
    assert alternatives
    assert all(len(text) > 20 for text in alternatives)


def test_the_benchmark_page_shows_the_last_full_run() -> None:
    text = PAGE.read_text()
    assert text == update_page(text), "run: python -m benchmarks.page"
    assert PICTURE.read_text() == draw(load(RESULTS)[1]), "run: python -m benchmarks.page"


def test_no_other_pictures() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {*PICTURES, PICTURE.stem}
    assert ROOT / "docs/pictures" == FOLDER
