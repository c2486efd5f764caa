"""Signals: short texts, such as "typing", to those who follow a room now. They are never stored."""

from headrace.core.feature import Feature

FEATURE = Feature(name="signals", routes={"receive_frame": "routes"}, actions=("sendSignal",))
