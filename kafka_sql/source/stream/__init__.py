"""Track a streaming read between micro-batches: offsets, rate limits, and offset commits."""
