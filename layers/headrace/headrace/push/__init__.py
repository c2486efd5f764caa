"""Sending frames to connections from outside of their own frames: ``base`` says what is promised."""
