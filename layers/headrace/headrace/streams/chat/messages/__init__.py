"""Messages of rooms: writing, storing and reading them, and lists of conversations."""
