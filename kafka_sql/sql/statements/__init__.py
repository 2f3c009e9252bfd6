"""Execute statements about tables: CREATE, ALTER, SHOW, DESCRIBE and EXPLAIN."""
