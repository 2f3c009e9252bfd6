"""What would keep a table from being read and written: asked of the brokers and the registry, no record touched."""
