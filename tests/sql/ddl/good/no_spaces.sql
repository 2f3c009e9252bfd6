CREATE TABLE`t`(a INT,b AS`a`+1,PRIMARY KEY(a)NOT ENFORCED)COMMENT'c'WITH('connector'='kafka','topic'='t')
