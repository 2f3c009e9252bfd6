"""Recognition of SHOW JOBS and STOP JOB."""

from __future__ import annotations

import pytest

from kafka_sql.sql.recognize.classify import ShowJobs, Statement, StopJob, classify


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("SHOW JOBS", ShowJobs()),
        ("-- all\nshow jobs ;", ShowJobs()),
        ("STOP JOB 'a''b'", StopJob("a'b")),
        ("stop job 'a' with savepoint;", StopJob("a", savepoint=True)),
        ("STOP JOB 'a' WITH DRAIN", StopJob("a", drain=True)),
        ("STOP JOB 'a' WITH SAVEPOINT WITH DRAIN", StopJob("a", savepoint=True, drain=True)),
        ("SHOW JOBS LIKE 'a'", None),
        ("STOP JOB a", None),
        ("STOP JOB 'a' WITH", None),
        ("STOP 'a'", None),
    ],
)
def test_classify(statement: str, expected: Statement | None) -> None:
    assert classify(statement) == expected
