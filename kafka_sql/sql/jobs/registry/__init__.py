"""The jobs of a session: SHOW JOBS, STOP JOB."""
