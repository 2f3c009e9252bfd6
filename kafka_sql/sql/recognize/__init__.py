"""Classify statements by their first tokens, without parsing them. Spark's statements are passed on unchanged."""
