-- error: SQL_SYNTAX: line 2, column 31: expected an option's key
CREATE TABLE t (id INT) WITH ()
