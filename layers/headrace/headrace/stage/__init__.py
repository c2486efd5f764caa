"""What this stage consists of: its features, its streams, and what features add to the core."""
