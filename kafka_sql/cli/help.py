"""Define the text of the command ``help``."""

from __future__ import annotations

from typing import Final

HELP: Final = """\
Statements end with ';'. All statements of Spark SQL work, and Flink's for Kafka tables:

  CREATE TABLE name (columns) WITH ('connector' = 'kafka', ...);   declare a table; also LIKE, AS, OR REPLACE
  ALTER TABLE name ADD | MODIFY | DROP | RENAME | SET | RESET ...; change the declaration
  DROP TABLE name;                     drop the declaration; the topic stays
  SHOW TABLES;                         list tables
  DESCRIBE name;                       list columns
  SHOW CREATE TABLE name;              show the declaration, with secrets masked
  SELECT ...;                          query; streams in streaming mode, until Ctrl-C
  INSERT INTO name SELECT ...;         write; in streaming mode, start a job
  EXECUTE STATEMENT SET BEGIN ... END; start several INSERTs
  SET 'execution.runtime-mode' = 'streaming';    or 'batch', the default
  SET 'execution.checkpointing.dir' = '/path';   where jobs store their progress
  SHOW JOBS [EXTENDED];  STOP JOB 'id';          list or stop jobs

Commands of the shell:

  source FILE;        run the statements of a file
  !COMMAND            run a command of the system
  help;  quit;        or Ctrl-D to exit. Ctrl-C stops a statement. Tab completes"""
