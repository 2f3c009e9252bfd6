-- error: SQL_SYNTAX: line 2, column 31: expected an option key
CREATE TABLE t (id INT) WITH ()
