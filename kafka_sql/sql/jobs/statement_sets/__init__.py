"""Run statement sets: several INSERTs that start together or not at all."""
