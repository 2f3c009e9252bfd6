"""``kafka-sql``: spark-sql's command line and a shell. ``arguments`` says what is asked for, ``launch`` starts Spark,
``script`` and ``shell`` give statements one by one to ``runner``, ``follow`` stays with the jobs they started.
"""
