"""Flink SQL in a Spark session: ``session`` takes each statement, ``dispatch`` says who carries it out.

Its folders, each of which knows only those after it: jobs, tables and queries, expressions, grammar, text.
"""
