"""Flink SQL in a Spark session: ``session`` receives each statement, ``dispatch`` executes it or passes it to Spark.

The packages depend on each other in this order: jobs, declarations and rewrite, expressions, grammar, recognize.
"""
