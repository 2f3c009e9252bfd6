"""The pictures are what the script draws, and stand where people look, with words for those who cannot see them."""

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
def test_a_picture(name: str) -> None:
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
def test_a_page_shows_it_with_words(name: str) -> None:
    shown = [found for path in pages() for found in re.findall(rf"!\[([^\]]+)\]\(\S*{name}\.svg\)", path.read_text())]
    assert shown
    assert all(len(words) > 20 for words in shown)


def test_the_page_of_the_benchmark_and_its_picture_are_of_the_last_full_run() -> None:
    text = PAGE.read_text()
    assert text == update_page(text), "run: python -m benchmarks.page"
    assert PICTURE.read_text() == draw(load(RESULTS)[1]), "run: python -m benchmarks.page"


def test_there_are_no_others() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == {*PICTURES, PICTURE.stem}
    assert ROOT / "docs/pictures" == FOLDER
