"""Parse Flink's types, expressions, CREATE TABLE and ALTER TABLE to nodes and declarations, without validating them."""
