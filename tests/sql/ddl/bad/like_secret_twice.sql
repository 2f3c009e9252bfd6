-- error: CONFLICTING_OPTIONS: There already exists an option ['properties.ssl.key.password' -> '******']
CREATE TABLE base (id INT) WITH ('connector' = 'kafka', 'topic' = 'events', 'properties.bootstrap.servers' = 'localhost:9092', 'format' = 'json', 'properties.ssl.key.password' = 'hunter2');
CREATE TABLE copy WITH ('properties.ssl.key.password' = 'x') LIKE base (INCLUDING OPTIONS);
