"""The broker, the retry queue and the dead-letter queue: ports, fakes in memory, and adapters."""
