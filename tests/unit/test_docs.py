"""Documentation that is made from the code is the code's."""

from __future__ import annotations

from tools.options_page import PAGE, page


def test_the_options_page_is_up_to_date() -> None:
    assert PAGE.read_text() == page(), "run: make docs-options"
