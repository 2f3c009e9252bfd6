"""The source: which offsets a query reads (enumerate), cut into splits; and a split's records as Spark's columns
(read).
"""
