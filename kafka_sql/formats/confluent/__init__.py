"""What the formats with a schema registry share: its options, client.py, and the framing of payloads on both ways."""
