"""Run continuous queries in Spark's real-time mode."""
