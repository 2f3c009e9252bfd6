"""Formats of users as key and value format, in sources and sinks, and decoders of whole records."""

from __future__ import annotations

from typing import Any

import pytest

from kafka_sql.errors import DecodeError, EncodeError
from tests.documents import ROOT
from tests.topics import Topics

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def package(spark: Any) -> None:
    """Distribute the example package to the workers."""
    spark.addArtifact(str(ROOT / "tests/example_formats/shop_formats.py"), pyfile=True)


@pytest.mark.usefixtures("package")
def test_custom_formats(sql: Any, topics: Topics) -> None:
    topic = topics.create()
    options = {
        "key.format": "shop_formats:Pairs",
        "key.fields": "id",
        "format": "shop_formats:Pairs",
        "pairs.separator": "&",
        "value.fields-include": "EXCEPT_KEY",
    }
    sql(f"CREATE TABLE pairs (id STRING, a STRING, b STRING) {topics.with_options(topic, **options)}")
    sql("INSERT INTO pairs VALUES ('1', 'x', NULL), ('2', 'y', 'z')")
    written = sorted((m.key(), m.value()) for m in topics.consume(topic, 2))
    assert written == [(b"id=1", b"a=x"), (b"id=2", b"a=y&b=z")]
    assert sql("SELECT * FROM pairs ORDER BY id").collect() == [("1", "x", None), ("2", "y", "z")]
    with pytest.raises(EncodeError, match="Column 'b': 'p&q' contains the separator '&'"):
        sql("INSERT INTO pairs VALUES ('3', 'x', 'p&q')")
    topics.produce(topic, b"nothing")
    with pytest.raises(DecodeError, match=rf"{topic}\[0\]@2.*expected pairs such as a=1"):
        sql("SELECT a FROM pairs").collect()


@pytest.mark.usefixtures("package")
def test_a_decoder_of_whole_records(sql: Any, topics: Topics) -> None:
    topic = topics.create()
    topics.produce(topic, None, b"/a\n/b", key=b"v1", headers=[("shop", b"s")], timestamp=1_700_000_000_123)
    topics.produce(topic, b"/c", timestamp=1_700_000_000_000)
    visits = topics.with_options(topic).replace("'json'", "'shop_formats:Visits'")
    sql(
        f"""CREATE TABLE visits (visitor STRING, page STRING, shop STRING, `position` STRING, `at` TIMESTAMP_LTZ(3),
        o BIGINT METADATA FROM 'offset') {visits}"""
    )
    rows = sql("SELECT visitor, page, shop, `position`, unix_millis(`at`), o FROM visits ORDER BY page").collect()
    assert rows == [
        ("v1", "/a", "s", "0@1", 1_700_000_000_123, 1),
        ("v1", "/b", "s", "0@1", 1_700_000_000_123, 1),
        ("", "/c", None, "0@2", 1_700_000_000_000, 2),
    ]
