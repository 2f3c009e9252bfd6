-- error: SQL_SYNTAX: expected an option key in single quotes
CREATE TABLE t (id INT) WITH ("connector" = "kafka")
