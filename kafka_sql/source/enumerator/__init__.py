"""Decide which partitions and offsets a read covers, and split them into tasks. Runs on the driver."""
