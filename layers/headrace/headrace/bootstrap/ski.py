"""Lift rides (temporary: until read_ski is on the router)."""

from headrace.ski.telling import gate as ride_gate
from headrace.ski.telling import listener as ride_hook

__all__ = ["ride_gate", "ride_hook"]
