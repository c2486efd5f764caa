"""Measures rides of many clients on stages that store them in different ways, or not at all."""
