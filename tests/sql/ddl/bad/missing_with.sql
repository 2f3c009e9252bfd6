-- error: MISSING_OPTION: CREATE TABLE t has no WITH clause
CREATE TABLE t (id INT)
