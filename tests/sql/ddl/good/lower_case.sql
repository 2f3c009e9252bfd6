create table t (id int not null primary key not enforced, v as upper('x'), ts timestamp_ltz(3) metadata from 'timestamp' virtual,
  watermark for ts as ts - interval '5' second) with ('connector'='kafka')
