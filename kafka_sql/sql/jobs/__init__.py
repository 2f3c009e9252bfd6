"""Execute INSERT INTO: batch writes, continuous queries and statement sets; SHOW JOBS and STOP JOB."""
