"""Turn parsed declarations into tables and back: CREATE TABLE, LIKE, AS, ALTER TABLE, SHOW CREATE TABLE."""
