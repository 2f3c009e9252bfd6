"""The nineteen scenarios, one file each in scenarios/: ``python -m tests.chaos --help``.

clusters (brokers to break), pipeline (a query on them), run (one of those under fault), registry (what there is).
"""
