"""What breaks, one module per part of the system that breaks."""
