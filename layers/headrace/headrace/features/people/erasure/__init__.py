"""Erases users: what a person has left in tables, queues and the cache, and what would come back later."""
