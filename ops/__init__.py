"""What operators do with a stage, on a command line: dead letters, parked messages, the retry budget."""
