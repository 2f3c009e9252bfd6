-- Qualified names, IF NOT EXISTS, DROP
CREATE DATABASE IF NOT EXISTS files_names;
CREATE TABLE files_names.t (a INT) WITH (${kafka}, 'topic' = 'qualified', 'format' = 'json');
CREATE TABLE t (a STRING) WITH (${kafka}, 'topic' = 'unqualified', 'format' = 'json');
CREATE TABLE IF NOT EXISTS files_names.t (b INT) WITH (${kafka}, 'topic' = 'qualified', 'format' = 'json');
CREATE TABLE files_names.t (b INT) WITH (${kafka}, 'topic' = 'qualified', 'format' = 'json');
--! Table 'files_names.t' already exists
INSERT INTO files_names.t VALUES (1);
INSERT INTO spark_catalog.files_names.t VALUES (2);
INSERT INTO t VALUES ('x');
SELECT a FROM files_names.t ORDER BY a;
--> 1
--> 2
SELECT a FROM default.t;
--> x
DROP TABLE files_names.t;
DROP TABLE IF EXISTS files_names.t;
DROP DATABASE files_names;
