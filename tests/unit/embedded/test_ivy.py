"""Test how Ivy's output becomes progress and error messages."""

import io

from kafka_sql.embedded.ivy import failure_reason, show_progress

# What Ivy 2.5.3 prints, shortened.
UNREACHABLE = """\
:: resolving dependencies :: kafka_sql#embedded;working@vm
	confs: [default]
:: problems summary ::
:::: WARNINGS
		module not found: org.slf4j#slf4j-api;1.7.36

	==== default: tried

	Host repository.invalid not found. url=https://repository.invalid/slf4j-api-1.7.36.jar
:::: ERRORS
	Server access error at url https://repository.invalid/a.jar (java.net.ConnectException: refused)
""".splitlines(keepends=True)

MISSING = """\
:: problems summary ::
:::: WARNINGS
		module not found: org.slf4j#slf4j-api;9.9.9
""".splitlines(keepends=True)


def download_output(count: int) -> list[str]:
    """Return what Ivy prints while it downloads this number of jars."""
    lines = [":: resolving dependencies ::\n"]
    for i in range(count):
        lines += [f"downloading a{i}.jar ...\n", "...... (1500kB)\n", ".. (0kB)\n", "\t[SUCCESSFUL ] a!a.jar (9ms)\n"]
    return lines


def test_the_reason_is_a_network_error_if_there_is_one() -> None:
    assert failure_reason(UNREACHABLE).startswith("Host repository.invalid not found")


def test_the_reason_is_a_missing_module_without_a_network_error() -> None:
    assert failure_reason(MISSING) == "module not found: org.slf4j#slf4j-api;9.9.9"


def test_the_reason_is_the_first_line_of_other_output() -> None:
    assert failure_reason(["\n", "Error: Unable to access jarfile x\n", "y\n"]) == "Error: Unable to access jarfile x"
    assert failure_reason([]) == "Ivy printed no error"


def test_progress_without_a_terminal_is_a_few_lines() -> None:
    out = io.StringIO()
    lines = download_output(46)
    assert list(show_progress(lines, 46, out, False, "Apache Kafka 4.3.1")) == lines
    assert out.getvalue().splitlines() == [
        "Apache Kafka 4.3.1: downloading 46 files (only once)",
        "Apache Kafka 4.3.1: 15 of 46 files, 22.5 MB",
        "Apache Kafka 4.3.1: 30 of 46 files, 45.0 MB",
        "Apache Kafka 4.3.1: 45 of 46 files, 67.5 MB",
        "Apache Kafka 4.3.1: 46 files, 69.0 MB downloaded in 0 s",
    ]


def test_progress_on_a_terminal_is_one_updated_line() -> None:
    out = io.StringIO()
    list(show_progress(download_output(2), 2, out, True, "Apache Kafka 4.3.1"))
    start = "\r\x1b[KApache Kafka 4.3.1: "
    assert out.getvalue() == (
        f"{start}downloading 2 files (only once){start}1 of 2 files, 1.5 MB{start}2 of 2 files, 3.0 MB"
        f"{start}2 files, 3.0 MB downloaded in 0 s\n"
    )
