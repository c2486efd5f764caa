"""How a stage is: its health, its status, and the states of circuit breakers."""
