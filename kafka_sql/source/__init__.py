"""Plan partitions and offsets (enumerator), read splits as Arrow batches (reader) and track streams (stream)."""
