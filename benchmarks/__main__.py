"""Compare this project with Spark's own Kafka connector and Flink SQL: ``python -m benchmarks [--quick] [--only ...]``.

The part 'engines', which runs only if it is named, compares it with other stream processors for Python.

All peers run alternately on the same broker, after warm-up rounds. Their results are compared, and a difference fails
the run. Only ratios are claimed; absolute values depend on the machine. Results are stored in ``benchmarks/results``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import changelog_keys, engines, growth, real_time, streams
from benchmarks.changelogs import measure_changelogs
from benchmarks.cluster import Cluster
from benchmarks.comparison import Result, count_noun
from benchmarks.floor import measure_floor
from benchmarks.latency import measure_latency
from benchmarks.orders import Topic, create_table, select_rows
from benchmarks.peer_process import PeerProcess
from benchmarks.peers import environments, launch
from benchmarks.reading import measure_reads
from benchmarks.report import describe_machine, format_line, format_table, save
from benchmarks.stages import measure_stages
from benchmarks.start_up import Start, measure_first_query, measure_small_queries
from benchmarks.writing import AT_LEAST_ONCE, EXACTLY_ONCE, measure_writes

_FORMATS = ("raw", "json", "csv", "avro", "avro-confluent")
_CODECS = ("lz4", "zstd")
_SIZES = {"1 KB": (870, 400_000), "10 KB": (9_900, 40_000)}  # bytes of filler, records


@dataclass
class Bench:
    """Shared state of all parts of a run."""

    cluster: Cluster
    folder: Path
    scale: float
    runs: int
    backlog: int
    rows: list[str]
    kafka_sql: PeerProcess
    spark: PeerProcess
    flink: PeerProcess

    @property
    def all(self) -> list[PeerProcess]:
        """All peers."""
        return [self.kafka_sql, self.spark, self.flink]

    def selects(self, comparison: str) -> bool:
        """Return whether a row of the parts with many of them is to be measured."""
        return not self.rows or any(text in comparison for text in self.rows)

    def topic(
        self, format: str, records: int, partitions: int = 4, filler: int = 0, compression: str = "none"
    ) -> Topic:
        """Return a topic filled by this project. Format raw uses the JSON topic."""
        stored = "json" if format == "raw" else format
        name = f"{stored}_{records}_{partitions}_{filler}_{compression}".replace("-", "_")
        servers = self.cluster.bootstrap, self.cluster.registry
        topic = Topic(name, stored, records, partitions, *servers, filler, compression)
        if name not in self.filled:
            self.cluster.create(name, partitions)
            self.kafka_sql.request("sql", text=create_table(name, topic))
            self.kafka_sql.request("sql", text=f"INSERT INTO {name} {select_rows(topic, f'range(0, {records}, 1, 2)')}")
            self.filled.add(name)
        return replace(topic, format=format)

    def __post_init__(self) -> None:
        """Start without filled topics."""
        self.filled: set[str] = set()


def reading(bench: Bench) -> Iterator[Result]:
    """Measure each format, and compressed records."""
    rows = [(format, format, "none") for format in _FORMATS]
    rows += [(f"{format}, {codec}", format, codec) for codec in _CODECS for format in ("raw", "json")]
    for comparison, format, codec in rows:
        if bench.selects(comparison):
            topic = bench.topic(format, int(2_000_000 * bench.scale), compression=codec)
            yield from measure_reads("read", comparison, topic, bench.all, bench.runs)


def sizing(bench: Bench) -> Iterator[Result]:
    """Measure records of 1 KB and 10 KB, and 1 and 16 partitions."""
    for size, (filler, records) in _SIZES.items():
        for format in ("raw", "json"):
            topic = bench.topic(format, int(records * bench.scale), filler=filler)
            yield from measure_reads("sizes", f"{format}, {size}", topic, bench.all, bench.runs)
    for partitions in (1, 16):
        topic = bench.topic("json", int(1_000_000 * bench.scale), partitions)
        yield from measure_reads("sizes", f"json, {count_noun(partitions, 'partition')}", topic, bench.all, bench.runs)


def sample(bench: Bench) -> Iterator[Result]:
    """Measure a small sample of reads and writes."""
    records = int(2_000_000 * bench.scale)
    for format in ("raw", "json"):
        yield from measure_reads("read", format, bench.topic(format, records), bench.all, bench.runs)
    template = Topic("", "json", records // 2, 4, bench.cluster.bootstrap, bench.cluster.registry)
    writers = [(process.name, process, AT_LEAST_ONCE) for process in bench.all]
    yield from measure_writes("json, at-least-once", template, writers, bench.cluster, bench.runs, warm_ups=1)


def one_core(bench: Bench) -> Iterator[Result]:
    """Measure reading with one core."""
    topic = bench.topic("json", int(1_000_000 * bench.scale))
    with ExitStack() as stack:
        starts = (launch.start_kafka_sql, launch.start_spark, launch.start_flink)
        peers = [stack.enter_context(start(bench.folder, 1)) for start in starts]
        yield from measure_reads("cores", "json, 1 core", topic, peers, bench.runs)


def writing(bench: Bench) -> Iterator[Result]:
    """Measure each delivery guarantee, with more rounds because these runs vary most."""
    with_guarantees = [bench.kafka_sql, bench.flink]
    rows = [
        ("json, at-least-once", "json", AT_LEAST_ONCE, bench.all, "none"),
        ("json, exactly-once", "json", EXACTLY_ONCE, with_guarantees, "none"),
        *((f"json, {codec}, at-least-once", "json", AT_LEAST_ONCE, bench.all, codec) for codec in _CODECS),
        ("json, headers, at-least-once", "json", AT_LEAST_ONCE, bench.all, "none"),
        ("avro, at-least-once", "avro", AT_LEAST_ONCE, bench.all, "none"),
    ]
    servers = bench.cluster.bootstrap, bench.cluster.registry
    for comparison, format, options, peers, codec in rows:
        if bench.selects(comparison):
            records, has_headers = int(2_000_000 * bench.scale), "headers" in comparison
            template = Topic("", format, records, 4, *servers, compression=codec, has_headers=has_headers)
            writers = [(process.name, process, options) for process in peers]
            yield from measure_writes(comparison, template, writers, bench.cluster, bench.runs + 2)


def starting(bench: Bench) -> Iterator[Result]:
    """Measure small queries, warm and cold."""
    topic = bench.topic("json", 1_000, 2)
    yield from measure_small_queries(topic, bench.all, max(3, int(20 * bench.scale)))
    starts: dict[str, Start] = {launch.OURS: launch.start_kafka_sql, launch.SPARK: launch.start_spark}
    yield from measure_first_query("first query", topic, starts, bench.folder, bench.runs)
    starts[launch.OURS] = launch.start_with_class_archive
    yield from measure_first_query("first query, class data archive", topic, starts, bench.folder, bench.runs)


def streaming(bench: Bench) -> Iterator[Result]:
    """Measure the latency of micro-batches."""
    for rate in (20, 20_000):
        peers = [bench.kafka_sql, bench.spark]
        yield from measure_latency(rate, int(15 * bench.scale) + 5, peers, bench.cluster, bench.folder, bench.runs)


def real_time_mode(bench: Bench) -> Iterator[Result]:
    """Measure the latency from end to end, in real-time mode and in micro-batches."""
    cores = real_time.CORES
    with launch.start_kafka_sql(bench.folder, cores) as ours, launch.start_spark(bench.folder, cores) as spark:
        yield from real_time.measure_real_time(
            (20, 2_000), 8, int(15 * bench.scale) + 3, [ours, spark], bench.cluster, bench.folder, bench.runs
        )


def other_engines(bench: Bench) -> Iterator[Result]:
    """Measure other stream processors for Python, as far as they can be installed."""
    records, warm_up = int(1_000_000 * bench.scale), int(100_000 * bench.scale)
    topics = [
        streams.fill(name, n, bench.kafka_sql, bench.cluster)
        for name, n in (("engine_records", records), ("engine_warm_up", warm_up))
    ]
    with ExitStack() as stack:
        peers = [bench.kafka_sql]
        for name in environments.MODULES:
            try:
                peers.append(stack.enter_context(environments.start_engine(name, bench.folder)))
            except environments.InstallationError as e:
                print(e, flush=True)
        rows = [row for row in engines.ROWS if bench.selects(row)]
        yield from engines.measure_engines(topics[0], topics[1], peers, bench.cluster, bench.folder, bench.runs, rows)


def draining(bench: Bench) -> Iterator[Result]:
    """Measure streams that read a backlog."""
    records, warm_up = int(bench.backlog * bench.scale), int(streams.WARM_UP * bench.scale)
    topics = [
        streams.fill(name, n, bench.kafka_sql, bench.cluster)
        for name, n in (("backlog", records), ("warm_up", warm_up))
    ]
    with launch.start_flink(bench.folder, 2, "streaming") as flink:
        peers = [bench.kafka_sql, bench.spark, flink]
        queries = [query for query in streams.QUERIES if bench.selects(query)]
        yield from streams.measure_streams(
            topics[0], topics[1], peers, bench.cluster, bench.folder, bench.runs, queries
        )


def changelogs(bench: Bench) -> Iterator[Result]:
    """Measure continuous queries over changelogs."""
    with launch.start_flink(bench.folder, 2, "streaming") as flink:
        yield from measure_changelogs(
            int(1_000_000 * bench.scale), bench.kafka_sql, flink, bench.cluster, bench.folder, bench.runs
        )


def many_keys(bench: Bench) -> Iterator[Result]:
    """Measure changelogs of 1,000,000 keys."""
    keys, few = int(1_000_000 * bench.scale), int(10_000 * bench.scale)
    yield from changelog_keys.measure_content(keys, bench.kafka_sql, bench.cluster, bench.runs)
    yield from changelog_keys.measure_normalization(
        (few, keys), few, bench.kafka_sql, bench.cluster, bench.folder, bench.runs
    )


def without_spark(bench: Bench) -> Iterator[Result]:
    """Measure the reader without Spark."""
    yield from measure_floor(bench.topic("raw", int(2_000_000 * bench.scale), 1), bench.runs + 2)


def profile(bench: Bench) -> Iterator[Result]:
    """Measure CPU time by process and step."""
    records = int(1_000_000 * bench.scale)
    for format in ("raw", "json", "avro"):
        yield from measure_stages(
            bench.topic(format, records), bench.topic(format, records, 1), bench.kafka_sql, bench.runs
        )


def growing(bench: Bench) -> Iterator[Result]:
    """Measure more partitions, more columns and more schemas."""
    yield from growth.measure_partitions((10, 100, 1000), [bench.kafka_sql, bench.spark], bench.cluster, bench.runs)
    yield from growth.measure_columns(
        (1, 10, 100), int(200_000 * bench.scale), [bench.kafka_sql, bench.spark], bench.cluster, bench.runs
    )
    yield from growth.measure_schemas(
        (1, 100, 1000), int(200_000 * bench.scale), bench.kafka_sql, bench.cluster, bench.runs
    )


def unused_columns(bench: Bench) -> Iterator[Result]:
    """Measure the cost of columns that a query does not use."""
    yield from growth.measure_unused_columns(
        20, int(1_000_000 * bench.scale), bench.kafka_sql, bench.cluster, bench.runs
    )


PARTS: dict[str, Callable[[Bench], Iterator[Result]]] = {
    "read": reading,
    "sizes": sizing,
    "cores": one_core,
    "write": writing,
    "start": starting,
    "latency": streaming,
    "real-time": real_time_mode,
    "stream": draining,
    "engines": other_engines,
    "changelogs": changelogs,
    "changelog-keys": many_keys,
    "floor": without_spark,
    "growth": growing,
    "unused": unused_columns,
    "stages": profile,
}
SAMPLE: dict[str, Callable[[Bench], Iterator[Result]]] = {"sample": sample}
ON_DEMAND = ("engines",)  # installs about 2 GB


def main() -> int:
    """Measure, and print and store the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the records, one run, few comparisons")
    parser.add_argument("--only", nargs="+", choices=PARTS, help="parts to run (default: all but 'engines')")
    parser.add_argument(
        "--rows",
        nargs="+",
        default=[],
        help="rows of 'read', 'write', 'stream', 'engines' with these texts, as in: zstd",
    )
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--backlog", type=int, default=10_000_000, help="records that part 'stream' reads (10,000,000)")
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("results"))
    arguments = parser.parse_args()
    arguments.out.mkdir(exist_ok=True)
    path = arguments.out / ("quick.json" if arguments.quick else "full.json")
    results: list[Result] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        cluster = stack.enter_context(Cluster())
        peers = [
            stack.enter_context(s(folder)) for s in (launch.start_kafka_sql, launch.start_spark, launch.start_flink)
        ]
        scale, runs = (0.1, 1) if arguments.quick else (1, arguments.runs)
        bench = Bench(cluster, folder, scale, runs, arguments.backlog, arguments.rows, *peers)
        print(" · ".join(f"{k} {v}" for k, v in describe_machine().items()), flush=True)
        everything = SAMPLE if arguments.quick else {p: PARTS[p] for p in PARTS if p not in ON_DEMAND}
        for measure in [PARTS[part] for part in arguments.only or ()] or everything.values():
            for result in measure(bench):
                print(format_line(result), flush=True)
                results = save(result, path)
    print(f"\n{format_table(results)}\nResults: {path}. `python -m benchmarks.page` writes them to the documentation.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
