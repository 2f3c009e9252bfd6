-- LIKE: what the table inherits and what it does not
CREATE TABLE base (a INT, b AS a + 1, o BIGINT METADATA FROM 'offset' VIRTUAL) WITH (${kafka}, 'topic' = 'base', 'format' = 'json');
INSERT INTO base VALUES (1);
CREATE TABLE all_of_it LIKE base;
SELECT * FROM all_of_it;
--> 1 | 2 | 0
CREATE TABLE columns_only WITH (${kafka}, 'topic' = 'base', 'format' = 'json') LIKE base (EXCLUDING ALL);
SELECT * FROM columns_only;
--> 1
CREATE TABLE no_generated LIKE base (EXCLUDING GENERATED);
SELECT * FROM no_generated;
--> 1 | 0
CREATE TABLE again (b AS a + 2) LIKE base;
--! b
CREATE TABLE over (b AS a + 2) LIKE base (OVERWRITING GENERATED);
SELECT b FROM over;
--> 3
CREATE TABLE none LIKE base (EXCLUDING OPTIONS);
--! connector
