"""Decide what a job is: from an INSERT to a plan."""
