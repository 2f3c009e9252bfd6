"""A table's declaration as plain data, and the row kinds of changelogs."""
