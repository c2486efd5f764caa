"""Live connections: who subscribes to which room, and the frames that are pushed to them."""
