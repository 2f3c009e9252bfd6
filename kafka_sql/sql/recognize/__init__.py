"""Statements as text: lexemes with their places, and the first words, which tell whose statement it is.

Nothing is parsed here: what Spark is to read keeps each character.
"""
