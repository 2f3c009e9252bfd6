"""Read splits as columns: fetch record batches and locate their records."""
