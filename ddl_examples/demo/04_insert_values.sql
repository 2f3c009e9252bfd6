-- Write to the topic; `ts` becomes the record's timestamp, a day after all others
INSERT INTO orders VALUES
  (900001, 17, 'espresso beans 1 kg', 18.90, 2, 'DE', TIMESTAMP '2026-03-03 08:00:00Z'),
  (900002, 18, 'filter papers', 3.49, 10, 'FR', TIMESTAMP '2026-03-03 08:00:01Z')
