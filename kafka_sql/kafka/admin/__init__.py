"""Query and administer a cluster: topics, offsets, consumer groups, permissions, broker settings."""
