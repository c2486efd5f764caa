"""Rooms, memberships and invitations in DynamoDB."""
