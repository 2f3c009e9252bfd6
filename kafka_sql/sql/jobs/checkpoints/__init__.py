"""Checkpoints: their folders, and what they require of a query that resumes."""
