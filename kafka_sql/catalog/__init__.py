"""The tables of a session: their data sources, their names in Spark's catalog, and the folder that persists them."""
