"""RabbitMQ: publishers, their connection, the topology, the parking queue, and queue depths."""
