"""RabbitMQ: publishers, their connection, the topology, queue depths, and the parking queue."""
