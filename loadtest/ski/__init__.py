"""``make demo STREAM=ski``: lift rides from many clients, and a comparison of every answer with the sent events."""
