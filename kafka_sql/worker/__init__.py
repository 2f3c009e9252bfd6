"""Spark's Python workers as processes: what they are (process), what they keep out of the garbage collector's way
(garbage), and how they talk to the JVM without delay (connection). Knows nothing of the rest.
"""
