"""``make demo STREAM=ads``: ad clicks at a steady rate, every question asked and checked against what was sent."""
