"""Commands for operators of a stage: dead letters, parked messages, the retry budget."""
