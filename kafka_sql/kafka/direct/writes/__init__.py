"""Write columns as record batches: encode records, send batches, run transactions."""
