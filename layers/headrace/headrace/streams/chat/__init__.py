"""The stream ``chat``: messages in rooms, memberships, history, conversations and live subscriptions."""
