-- Names and strings beyond ASCII, unusual quoting, comments everywhere
CREATE /* here */ TABLE -- and here
t (
  `größe` INT COMMENT 'it''s', -- a comment; with a semicolon
  `a b` STRING, /* 'quote */
  `back``tick` BOOLEAN
) WITH (${kafka}, 'topic' = 'odd', 'format' = 'json');
INSERT INTO t VALUES (1, '''; DROP TABLE t; --', true);
SELECT `größe`, `a b`, `back``tick` FROM t;
--> 1 | '; DROP TABLE t; -- | true
CREATE TEMPORARY TABLE `ünï.code` (a INT) WITH (${kafka}, 'topic' = 'odd', 'format' = 'json');
SELECT count(*) FROM `ünï.code`;
--> 1
