"""Compares emulators of DynamoDB and SQS (``make bench-emulators``), and starts them for other benchmarks."""
