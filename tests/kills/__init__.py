"""Kill -9 at named points: what exactly-once promises, put to the test. By hand: ``python -m tests.kills --help``.

engine (a query without Spark, on the sink's own code), points (where it dies), oracle (what readers saw), campaign.
"""
