"""Lift rides: what is asked about them, and the read model behind the questions about a resort's day."""
