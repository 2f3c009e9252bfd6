"""Read the clusters of a 'dynamic-kafka' table: call its metadata service, and treat its clusters as one."""
