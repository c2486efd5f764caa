"""``make demo STREAM=doors``: events of a declared stream, and a comparison of every answer with the sent events."""
