"""Rooms, their members, and invitations to them."""
