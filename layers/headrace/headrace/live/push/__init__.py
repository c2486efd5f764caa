"""Pushes frames to connections through API Gateway, over kept HTTP connections."""
