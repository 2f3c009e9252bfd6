"""Measurements against the peers, each in one run on one broker. A ratio is the claim, an absolute figure is not."""
