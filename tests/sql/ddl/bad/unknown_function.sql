-- error: UNSUPPORTED_SQL: Computed column 'h': function LOWR is not supported. Did you mean 'LOWER'?
CREATE TABLE t (a STRING, h AS LOWR(a)) WITH ('connector' = 'kafka')
