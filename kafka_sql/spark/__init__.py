"""Use what is not public in Spark: every private name, Java class and message text that this package relies on."""
