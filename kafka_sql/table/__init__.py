"""Hold a table's declaration as plain data, and the row kinds and key semantics of changelogs."""
