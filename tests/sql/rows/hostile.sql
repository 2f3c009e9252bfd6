-- Names, values and records with special characters are preserved
CREATE TEMPORARY TABLE `../../t'; DROP TABLE x; --` (
  `c``; DROP` STRING COMMENT 'it''s $(x) \ " /*',
  `{0} %s` STRING
) WITH (${kafka}, 'topic' = 'hostile', 'format' = 'json', 'properties.client.id' = '$(touch x) {0} %s; ../..');
INSERT INTO `../../t'; DROP TABLE x; --` VALUES
  ('1 {0} %s {a.__class__}', ''' OR 1=1; --'),
  ('2 ../../../etc/passwd', concat('$', '{env:HOME}')),
  ('3 $(touch x) `id`', '*/ --');
SELECT `c``; DROP`, `{0} %s` FROM `../../t'; DROP TABLE x; --` ORDER BY 1;
--> 1 {0} %s {a.__class__} | ' OR 1=1; --
--> 2 ../../../etc/passwd | ${env:HOME}
--> 3 $(touch x) `id` | */ --
SELECT count(*) FROM `../../t'; DROP TABLE x; --` WHERE `{0} %s` = ''' OR 1=1; --';
--> 1
CREATE TABLE `../t` (a INT) WITH (${kafka}, 'topic' = 'hostile', 'format' = 'json');
--! Spark allows only letters a to z, digits and underscores
