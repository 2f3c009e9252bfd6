"""Test how Java classes are added to Spark: the class loader, the jar and its distribution, with a fake JVM."""

from __future__ import annotations

import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import py4j.java_gateway
import pytest
from py4j.protocol import Py4JJavaError

from kafka_sql.runtime.java_classes import add_classes, compile_java, driver_class_loader, load_class

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
        if name != "kafka_sql.Known":
            raise _JavaError
        return f"class {name}"


class _JavaError(Py4JJavaError):
    def __init__(self) -> None:
        """Have no Java exception."""


class Compiler:
    """Janino's compiler: the bytecode of a class is its source."""

    def setIClassLoader(self, loader: Loader) -> None:
        self.loader = loader

    def setClassFileCreator(self, classes: dict[str, bytes]) -> None:
        self.classes = classes

    def compile(self, units: list[tuple[str, str]]) -> None:
        for name, text in units:
            self.classes[f"kafka_sql/{name.removesuffix('.java')}.class"] = f"{self.loader.type}: {text}".encode()


class SimpleCompiler:
    """Janino's compiler of one file."""

    def setParentClassLoader(self, loader: Loader) -> None:
        self.loader = loader

    def cook(self, text: str) -> None:
        self.text = text


class Context:
    """A SparkContext, whose folder of temporary files is ``folder``."""

    def __init__(self, folder: Path, is_local: bool = True, loader: Loader | None = None) -> None:
        self.jars: list[str] = []
        self._gateway = SimpleNamespace(new_array=lambda _, size: [None] * size)
        self._jsc = SimpleNamespace(sc=lambda: SimpleNamespace(isLocal=lambda: is_local), addJar=self.jars.append)
        resource = SimpleNamespace(
            Resource=None, MapResourceCreator=lambda classes: classes, StringResource=lambda name, text: (name, text)
        )
        janino = SimpleNamespace(
            Compiler=Compiler, SimpleCompiler=SimpleCompiler, ClassLoaderIClassLoader=lambda loader: loader
        )
        self.deleted_at_exit: list[str] = []
        hooks = SimpleNamespace(registerShutdownDeleteDir=lambda file: self.deleted_at_exit.append(file.path))
        self._jvm = SimpleNamespace(
            Thread=SimpleNamespace(currentThread=lambda: SimpleNamespace(getContextClassLoader=lambda: loader)),
            System=SimpleNamespace(getProperty={"java.io.tmpdir": str(folder)}.get),
            java=SimpleNamespace(io=SimpleNamespace(File=_file), util=SimpleNamespace(HashMap=dict)),
            org=SimpleNamespace(
                apache=SimpleNamespace(spark=SimpleNamespace(util=SimpleNamespace(ShutdownHookManager=hooks))),
                codehaus=SimpleNamespace(
                    janino=janino,
                    commons=SimpleNamespace(compiler=SimpleNamespace(util=SimpleNamespace(resource=resource))),
                ),
            ),
        )


def _file(path: str) -> Any:
    return SimpleNamespace(path=path, toURI=lambda: SimpleNamespace(toURL=lambda: f"file:{path}"))


@pytest.fixture(autouse=True)
def types(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(py4j.java_gateway, "is_instance_of", lambda _, loader, name: loader.type == name)


def test_the_outermost_loader_of_jars_is_the_drivers(tmp_path: Path) -> None:
    """Threads of a session can have their own loader below it, and the JVM has others above it."""
    driver = Loader(URL_LOADER, Loader("app", Loader("platform")))
    for loader in (driver, Loader("repl", driver), Loader(URL_LOADER, driver)):
        assert driver_class_loader(Context(tmp_path, loader=loader)) is driver
    for other in (None, Loader("app", Loader("platform"))):
        assert driver_class_loader(Context(tmp_path, loader=other)) is None


def test_load_class() -> None:
    loader = Loader(URL_LOADER)
    assert load_class(loader, "kafka_sql.Known") == "class kafka_sql.Known"
    assert load_class(loader, "kafka_sql.Unknown") is None


@pytest.mark.usefixtures("group_umask")
@pytest.mark.parametrize("is_local", [True, False])
def test_classes_are_compiled_into_a_jar(tmp_path: Path, is_local: bool) -> None:
    sources = [tmp_path / "A.java", tmp_path / "B.java"]
    for source in sources:
        source.write_text(f"class {source.stem} {{}}")
    context, loader = Context(tmp_path, is_local), Loader(URL_LOADER)
    add_classes(context, loader, "kafka-sql-test.jar", sources)
    (jar,) = tmp_path.glob("kafka_sql-*/kafka-sql-test.jar")
    assert [path.stat().st_mode & 0o777 for path in (jar.parent, jar)] == [0o700, 0o600]  # code that the driver runs
    assert context.deleted_at_exit == [str(jar.parent)]
    with zipfile.ZipFile(jar) as archive:
        assert {name: archive.read(name).decode() for name in archive.namelist()} == {
            "kafka_sql/A.class": f"{URL_LOADER}: class A {{}}",
            "kafka_sql/B.class": f"{URL_LOADER}: class B {{}}",
        }
    assert loader.urls == [f"file:{jar}"]
    assert context.jars == ([] if is_local else [str(jar)])  # executors in other processes download it


def test_one_file(tmp_path: Path) -> None:
    source = tmp_path / "A.java"
    source.write_text("class A {}")
    loader = Loader(URL_LOADER)
    compiler = compile_java(Context(tmp_path), loader, source)
    assert (compiler.loader, compiler.text) == (loader, "class A {}")
