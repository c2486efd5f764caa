"""The rows of rooms, memberships and invitations."""
