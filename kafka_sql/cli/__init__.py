"""``kafka-sql``: spark-sql's command line and an interactive shell.

``arguments`` parses the command line, ``spark_session`` starts Spark, ``script`` and ``shell`` pass statements one by
one to ``runner``, and ``running_jobs`` waits for the jobs that they started.
"""
