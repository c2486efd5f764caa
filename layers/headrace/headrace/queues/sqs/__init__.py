"""SQS: the retry queue and the dead-letter queue."""
