"""Test exactly-once writes by killing drivers at named crash points: ``python -m tests.kills --help``.

Modules: simulated_query (a query without Spark, on the real sink), crash_points, oracle (what readers saw), campaign
(kills one driver after another), spark and spark_query (the same with Spark).
"""
