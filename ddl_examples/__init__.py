"""Runnable examples: the demo (`make demo`), and SQL files that the demo and the tests run."""
