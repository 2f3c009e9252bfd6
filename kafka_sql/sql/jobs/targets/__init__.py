"""Write rows: tables of Spark, tables of print and blackhole, several tables at once."""
