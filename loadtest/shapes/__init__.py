"""Shapes of load, declared as data: ``catalog`` has all of them."""
