"""Where tables live: the provider class that makes a table known to Spark, and the tables of a session."""
