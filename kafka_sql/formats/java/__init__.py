"""Java's text, number, time and charset rules, which Flink's formats follow."""
