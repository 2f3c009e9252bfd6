"""One file a scenario, numbered as in docs/reliability.md; ``scenario`` does it and says what readers saw."""
