"""Mutated inputs for all that reads what others wrote: ``python -m tests.fuzz`` (make fuzz)."""
