"""Functions and operators that Flink and Spark have under one name: their results on the same inputs."""
