"""What the formats with a schema registry share: options, the client, the wire format, and schema inference."""
