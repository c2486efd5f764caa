"""What saturates first as the rate of events grows."""
