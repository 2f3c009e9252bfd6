"""Runnable examples: the demo (`make demo`), and the SQL files that it and the tests run."""
