"""Support for running in Spark and Python: worker processes, garbage collection, time zones, compiled loops, HTTP."""
