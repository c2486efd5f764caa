"""Writes the Python client's types and methods from the API descriptions."""
