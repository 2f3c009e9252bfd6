"""Check that a continuous query can run before it starts."""
