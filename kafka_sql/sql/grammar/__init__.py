"""Parse Flink's types, expressions, CREATE TABLE and ALTER TABLE with sqlglot's tokens, without validating them."""
