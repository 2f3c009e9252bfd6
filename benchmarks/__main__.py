"""This project beside Spark's own Kafka source and sink and Flink SQL: ``python -m benchmarks [--quick] [--only ...]``.

One broker, all peers in one run and in alternation, warm-ups first; results are compared, and another result fails the
run. What is claimed is a ratio: the figures are this machine's. Keeps them in ``benchmarks/results``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks import growth
from benchmarks.cluster import Cluster
from benchmarks.contest import Result
from benchmarks.floor import floor
from benchmarks.latency import latency
from benchmarks.orders import Topic, definition, rows
from benchmarks.peers import launch
from benchmarks.reading import read
from benchmarks.report import line, machine, save, table
from benchmarks.stages import stages
from benchmarks.starting import Start, first, small
from benchmarks.station import Station
from benchmarks.writing import AT_LEAST_ONCE, EXACTLY_ONCE, write

_FORMATS = ("raw", "json", "csv", "avro", "avro-confluent")
_SIZES = {"1 KB": (870, 400_000), "10 KB": (9_900, 40_000)}  # bytes of filler, records


@dataclass
class Bench:
    """What all parts of a run share."""

    cluster: Cluster
    folder: Path
    scale: float
    runs: int
    ours: Station
    sparks: Station
    flink: Station

    @property
    def all(self) -> list[Station]:
        """The three peers."""
        return [self.ours, self.sparks, self.flink]

    def topic(self, format: str, records: int, partitions: int = 4, filler: int = 0) -> Topic:
        """A topic that is filled by this project; raw is the one of JSON."""
        stored = "json" if format == "raw" else format
        name = f"{stored}_{records}_{partitions}_{filler}".replace("-", "_")
        made = Topic(name, stored, records, partitions, self.cluster.bootstrap, self.cluster.registry, filler)
        if name not in self.filled:
            self.cluster.create(name, partitions)
            self.ours.ask("sql", text=definition(name, made))
            self.ours.ask("sql", text=f"INSERT INTO {name} {rows(made, f'range(0, {records}, 1, 2)')}")
            self.filled.add(name)
        return Topic(name, format, records, partitions, self.cluster.bootstrap, self.cluster.registry, filler)

    def __post_init__(self) -> None:
        """No topic is filled yet."""
        self.filled: set[str] = set()


def reading(bench: Bench) -> Iterator[Result]:
    """Each format."""
    for format in _FORMATS:
        yield from read("read", format, bench.topic(format, int(2_000_000 * bench.scale)), bench.all, bench.runs)


def sizing(bench: Bench) -> Iterator[Result]:
    """Records of 1 KB and 10 KB; 1 and 16 partitions."""
    for size, (filler, records) in _SIZES.items():
        for format in ("raw", "json"):
            topic = bench.topic(format, int(records * bench.scale), filler=filler)
            yield from read("sizes", f"{format}, {size}", topic, bench.all, bench.runs)
    for partitions in (1, 16):
        topic = bench.topic("json", int(1_000_000 * bench.scale), partitions)
        yield from read("sizes", f"json, {partitions} partitions", topic, bench.all, bench.runs)


def sample(bench: Bench) -> Iterator[Result]:
    """A little of reading and of writing."""
    records = int(2_000_000 * bench.scale)
    for format in ("raw", "json"):
        yield from read("read", format, bench.topic(format, records), bench.all, bench.runs)
    like = Topic("", "json", records // 2, 4, bench.cluster.bootstrap, bench.cluster.registry)
    ways = [(station.name, station, AT_LEAST_ONCE) for station in bench.all]
    yield from write("json, at least once", like, ways, bench.cluster, bench.runs, warm_ups=1)


def one_core(bench: Bench) -> Iterator[Result]:
    """The same on one core."""
    topic = bench.topic("json", int(1_000_000 * bench.scale))
    with ExitStack() as stack:
        starts = (launch.ours, launch.sparks, launch.flink)
        stations = [stack.enter_context(start(bench.folder, 1)) for start in starts]
        yield from read("cores", "json, 1 core", topic, stations, bench.runs)


def writing(bench: Bench) -> Iterator[Result]:
    """Each guarantee; in more rounds, as these differ most from each other."""
    runs = bench.runs + 2
    for format in ("json", "avro"):
        like = Topic("", format, int(2_000_000 * bench.scale), 4, bench.cluster.bootstrap, bench.cluster.registry)
        ways = [(station.name, station, AT_LEAST_ONCE) for station in bench.all]
        yield from write(f"{format}, at least once", like, ways, bench.cluster, runs)
        if format == "json":
            ways = [(bench.ours.name, bench.ours, EXACTLY_ONCE), (bench.flink.name, bench.flink, EXACTLY_ONCE)]
            yield from write(f"{format}, exactly once", like, ways, bench.cluster, runs)


def starting(bench: Bench) -> Iterator[Result]:
    """Small queries, warm and cold."""
    topic = bench.topic("json", 1_000, 2)
    yield from small(topic, bench.all, max(3, int(20 * bench.scale)))
    starts: dict[str, Start] = {launch.OURS: launch.ours, launch.SPARK: launch.sparks}
    yield from first(topic, starts, bench.folder, bench.runs)


def following(bench: Bench) -> Iterator[Result]:
    """Latency of micro-batches."""
    for rate in (20, 20_000):
        stations = [bench.ours, bench.sparks]
        yield from latency(rate, int(15 * bench.scale) + 5, stations, bench.cluster, bench.folder, bench.runs)


def outside(bench: Bench) -> Iterator[Result]:
    """The reader without Spark."""
    yield from floor(bench.topic("raw", int(2_000_000 * bench.scale), 1), bench.runs + 2)


def profile(bench: Bench) -> Iterator[Result]:
    """Where the time goes."""
    many = int(1_000_000 * bench.scale)
    for format in ("raw", "json", "avro"):
        yield from stages(bench.topic(format, many), bench.topic(format, many, 1), bench.ours, bench.runs)


def growing(bench: Bench) -> Iterator[Result]:
    """More partitions, more columns, more schemas."""
    yield from growth.partitions((10, 100, 1000), [bench.ours, bench.sparks], bench.cluster, bench.runs)
    yield from growth.columns((1, 10, 100), int(200_000 * bench.scale), bench.ours, bench.cluster, bench.runs)
    yield from growth.schemas((1, 100, 1000), int(200_000 * bench.scale), bench.ours, bench.cluster, bench.runs)


PARTS: dict[str, Callable[[Bench], Iterator[Result]]] = {
    "read": reading,
    "sizes": sizing,
    "cores": one_core,
    "write": writing,
    "start": starting,
    "latency": following,
    "floor": outside,
    "growth": growing,
    "stages": profile,
}
SAMPLE = {"sample": sample}


def main() -> int:
    """Measure, and say where the results are."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the records, one run of each; a few contests")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="parts; all of them by default")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    arguments = parser.parse_args()
    arguments.out.mkdir(exist_ok=True)
    kept = arguments.out / ("quick.json" if arguments.quick else "full.json")
    results: list[Result] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cluster = stack.enter_context(Cluster())
        peers = [stack.enter_context(s(folder)) for s in (launch.ours, launch.sparks, launch.flink)]
        bench = Bench(cluster, folder, 0.1 if arguments.quick else 1, 1 if arguments.quick else arguments.runs, *peers)
        print(" · ".join(f"{k} {v}" for k, v in machine().items()), flush=True)
        parts = {part: PARTS[part] for part in arguments.only or ()} or (SAMPLE if arguments.quick else PARTS)
        for measure in parts.values():
            for result in measure(bench):
                print(line(result), flush=True)
                results = save(result, kept)
    print(f"\n{table(results)}\nResults: {kept}; `python -m benchmarks.page` puts them into the documentation")
    return 0


if __name__ == "__main__":
    sys.exit(main())
