from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kafka_sql import interpreter

INSTALLED = "/opt/env/lib/python3.12/site-packages"
ZIP = f"{INSTALLED}/pyspark/python/lib/pyspark.zip"


@pytest.mark.parametrize(
    ("path", "left"),
    [
        ([ZIP, "/py4j.zip", INSTALLED, "/mine"], ["/py4j.zip", INSTALLED, "/mine"]),
        ([ZIP, "/mine"], [ZIP, "/mine"]),  # no other pyspark is to be found
        (["/opt/spark/python/lib/pyspark.zip", INSTALLED], ["/opt/spark/python/lib/pyspark.zip", INSTALLED]),
        (["pyspark.zip", INSTALLED], ["pyspark.zip", INSTALLED]),
        ([INSTALLED], [INSTALLED]),
    ],
)
def test_the_zip_gives_way_to_the_same_installation_only(path: list[str], left: list[str]) -> None:
    assert interpreter.without_zip(path) == left


def test_pysparks_own_places() -> None:
    import pyspark

    (folder,) = pyspark.__path__
    zip_ = str(Path(folder, "python", "lib", "pyspark.zip"))
    assert Path(zip_).exists()
    assert interpreter.without_zip([zip_, *sys.path]) == sys.path
