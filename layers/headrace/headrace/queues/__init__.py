"""The broker, the retry queue and the dead-letter queue: ports and adapters."""
