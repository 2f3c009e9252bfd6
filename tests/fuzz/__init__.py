"""Feed mutated inputs to all code that parses external data: ``python -m tests.fuzz`` (make fuzz)."""
