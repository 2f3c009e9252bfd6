"""Rewrite the plans of continuous queries over changelogs, so that Spark applies updates and deletes."""
