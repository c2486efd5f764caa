"""``make demo STREAM=ads``: ad clicks at a steady rate, and a comparison of every answer with the sent events."""
