"""From clients to the tables: accept, publish, store, retry.

For example, a client sends one message over a WebSocket connection:

1. ``acceptor`` validates it, checks the sender's rate, asks the gate of its stream, and publishes it.
   If the broker does not confirm it, the acceptor sends it to the retry queue.
2. ``persister`` takes it from either queue, and ``row_writer`` writes its row and runs the hooks.
3. An event whose row is not written goes to the retry queue, which delivers it again after the pauses of
   ``retry_schedule``. After the last try, SQS moves it to the dead-letter queue.

Accepted means stored: when a client is told that an event is accepted, a queue holds it on disk. It leaves a queue
after its row is written, or after the next queue has confirmed it.
"""
