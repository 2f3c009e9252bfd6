"""Classify statements by their first tokens, without parsing them.

Statements that belong to Spark are passed on character by character.
"""
