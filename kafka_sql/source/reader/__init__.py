"""Read a split: fetch its records, decode keys and values, and add metadata columns. Runs in tasks."""
