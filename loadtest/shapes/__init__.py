"""Shapes of load, declared as data: ``shapes.yaml`` has all of them."""
