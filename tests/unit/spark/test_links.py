"""All that the jar's classes refer to exists in the installed Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pyspark

from kafka_sql.spark.jar import JAR
from tests.class_files import ClassPath, broken_links
from tools.build_jar import jars_not_in_spark

_LIBRARIES: Final = ("spark-", "scala-library-", "hadoop-client-", "jackson-", "avro-1", "py4j-", "slf4j-", "kryo-")


def test_all_references_exist() -> None:
    folder = Path(pyspark.__file__).with_name("jars")
    jars = [path for path in folder.glob("*.jar") if path.name.startswith(_LIBRARIES)]
    class_path = ClassPath([JAR, *jars, *jars_not_in_spark()])
    assert broken_links(JAR, class_path) == []
