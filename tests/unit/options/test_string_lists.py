"""Test the elements of list options, with the cases of Flink's StructuredOptionsSplitterTest."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_sql.errors import InvalidOptionError
from kafka_sql.formats.protobuf.options import PROTO_PATH
from kafka_sql.options import connector as opt
from kafka_sql.options.dynamic import STREAM_IDS
from kafka_sql.options.string_lists import join_list, split_list


@pytest.mark.parametrize(
    ("text", "elements"),
    [
        ("'A;B';C", ("A;B", "C")),
        ("'A;B';'C'", ("A;B", "C")),
        ("A;B;C", ("A", "B", "C")),
        ("'AB''D;B';C", ("AB'D;B", "C")),
        ('"AB""D;B";C', ('AB"D;B', "C")),
        ("'AB\"''D;B';C", ("AB\"'D;B", "C")),
        ('"AB\'""D;B";C', ("AB'\"D;B", "C")),
        ("   'A;B'    ;   C   ", ("A;B", "C")),
        ("'A;B'    ;C A", ("A;B", "C A")),
        ("' A    ;B'    ;'   C'", (" A    ;B", "   C")),
        ("a;b;", ("a", "b")),
        (";a", ("a",)),
        ("a;;b;;", ("a", "", "b", "")),
        ("''", ("",)),
        ("", ()),
        (" ; ", ()),
        ("[a, 'b;c,d', \"e\"]", ("a", "b;c,d", "e")),  # in YAML, which Flink 2 accepts, too
        ("[]", ()),
    ],
)
def test_elements(text: str, elements: tuple[str, ...]) -> None:
    assert split_list(text) == elements


@pytest.mark.parametrize("text", ["'AB'D;B;C", "'A", "C;'", '"AB"D', "a'b", "a;b'c'", "'a' 'b'", " " * 50_000 + "'"])
def test_misplaced_quotes(text: str) -> None:
    with pytest.raises(ValueError, match="quotes around a whole element"):
        split_list(text)


@given(st.lists(st.text(st.sampled_from("ab;,'\" []\n")), min_size=1))
def test_joined_elements_are_split_again(elements: list[str]) -> None:
    assert split_list(join_list(elements)) == tuple(elements)


@pytest.mark.parametrize("option", [opt.TOPIC, opt.KEY_FIELDS, PROTO_PATH, STREAM_IDS], ids=lambda option: option.key)
def test_options(option: opt.Option[tuple[str, ...]]) -> None:
    assert option.read("'a;b';t;") == ("a;b", "t")
    with pytest.raises(
        InvalidOptionError, match=f"for option '{option.key}': expected ';' between elements, and quotes"
    ):
        option.read("'a")


@pytest.mark.parametrize("text", ["", ";", "a;;b", "''"])
def test_names_are_not_empty(text: str) -> None:
    with pytest.raises(InvalidOptionError, match="expected one or more names separated by ';'"):
        opt.TOPIC.read(text)
