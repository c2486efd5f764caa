"""From the queues into the tables: the persister of both lanes, its row writer, the validator, the retry schedule."""
