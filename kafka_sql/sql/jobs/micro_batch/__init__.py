"""Run continuous queries in micro-batches."""
