"""What happens on a stage during a run: depths of its queues; of a local one also processes, metrics and units."""
