// Flink has three kinds of comments
CREATE /* a */ TABLE -- b
  t /* c ' */ (
    a INT, // d )
    /* , e INT */ f AS a /* g */ + 1 COMMENT 'h' -- i
  ) /* j */ WITH /* k */ ( /* l */ 'connector' /* = */ = 'kafka' /* ) */ )
  -- m
