"""Takes events from clients: how many of them, and how they are published."""
