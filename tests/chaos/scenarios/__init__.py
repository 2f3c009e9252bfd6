"""One file per scenario, numbered as in docs/reliability.md. ``scenario`` runs it and returns the outcome."""
