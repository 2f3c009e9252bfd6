"""Cluster metadata and administration: topics, offsets, consumer groups, ACLs, broker settings."""
