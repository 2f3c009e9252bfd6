"""Test how the jar is added to Spark: the class loader, and its distribution, with a fake JVM."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import py4j.java_gateway
import pytest
from py4j.protocol import Py4JJavaError

from kafka_sql.spark import jar
from kafka_sql.spark.jar import JAR, add_jar, driver_class_loader, load_driver_class

URL_LOADER = "org.apache.spark.util.MutableURLClassLoader"


class Loader:
    """A class loader, with its parent."""

    def __init__(self, type: str, parent: Loader | None = None) -> None:
        self.type, self.parent = type, parent
        self.urls: list[str] = []

    def getParent(self) -> Loader | None:
        return self.parent

    def addURL(self, url: str) -> None:
        self.urls.append(url)

    def loadClass(self, name: str) -> str:
        if not self.urls:
            raise _JavaError
        return f"class {name}"


class _JavaError(Py4JJavaError):
    def __init__(self) -> None:
        """Have no Java exception."""


class Context:
    """A SparkContext."""

    def __init__(self, loader: Loader | None = None, is_local: bool = True) -> None:
        self.jars: list[str] = []
        self._gateway = SimpleNamespace(new_array=lambda _, size: [None] * size)
        self._jsc = SimpleNamespace(sc=lambda: SimpleNamespace(isLocal=lambda: is_local), addJar=self.jars.append)
        self._jvm = SimpleNamespace(
            Thread=SimpleNamespace(currentThread=lambda: SimpleNamespace(getContextClassLoader=lambda: loader)),
            java=SimpleNamespace(
                io=SimpleNamespace(File=_file), net=SimpleNamespace(URL="URL", URLClassLoader=_url_class_loader)
            ),
        )


def _file(path: str) -> Any:
    return SimpleNamespace(toURI=lambda: SimpleNamespace(toURL=lambda: f"file:{path}"))


def _url_class_loader(urls: list[str], parent: Loader | None) -> Loader:
    loader = Loader("own", parent)
    loader.urls = urls
    return loader


@pytest.fixture(autouse=True)
def types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(py4j.java_gateway, "is_instance_of", lambda _, loader, name: loader.type == name)


def test_the_outermost_loader_of_jars_is_the_drivers() -> None:
    """Threads of a session can have their own loader below it, and the JVM has others above it."""
    driver = Loader(URL_LOADER, Loader("app", Loader("platform")))
    for loader in (driver, Loader("repl", driver), Loader(URL_LOADER, driver)):
        assert driver_class_loader(Context(loader)) is driver
    for other in (None, Loader("app", Loader("platform"))):
        assert driver_class_loader(Context(other)) is None


@pytest.mark.parametrize("is_local", [True, False])
def test_the_jar_is_added_once(is_local: bool) -> None:
    loader = Loader(URL_LOADER)
    context = Context(loader, is_local)
    assert add_jar(context) is add_jar(context) is loader
    assert loader.urls == [f"file:{JAR}"]
    assert context.jars == ([] if is_local else [str(JAR)])  # executors in other processes download it


def test_a_class_of_the_driver_needs_no_loader_of_jars() -> None:
    context = Context(Loader("app"))
    assert add_jar(context) is None
    assert load_driver_class(context, "A") == "class A"


def test_a_checkout_without_the_jar(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(jar, "JAR", tmp_path / "kafka-sql.jar")
    with pytest.raises(FileNotFoundError, match=r"kafka-sql.jar is missing.*python -m tools.build_jar"):
        add_jar(Context(Loader(URL_LOADER)))
