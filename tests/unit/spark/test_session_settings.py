"""Settings that overlapping blocks change are restored by the last one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from kafka_sql.spark.session_settings import changed_settings, user_setting


def session(**settings: str) -> Any:
    conf = SimpleNamespace(get=lambda key, default: settings.get(key, default), set=settings.__setitem__)
    return SimpleNamespace(conf=SimpleNamespace(**vars(conf), unset=settings.pop), settings=settings)


def test_the_last_block_restores() -> None:
    spark = session(a="1")
    first, second = changed_settings(spark, {"a": "2", "b": "2"}), changed_settings(spark, {"a": "2"})
    first.__enter__()
    second.__enter__()
    assert spark.settings == {"a": "2", "b": "2"}
    assert (user_setting(spark, "a"), user_setting(spark, "b")) == ("1", None)
    first.__exit__(None, None, None)
    assert spark.settings == {"a": "2"}
    second.__exit__(None, None, None)
    assert spark.settings == {"a": "1"}
    assert user_setting(spark, "a") == "1"
