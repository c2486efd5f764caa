"""Both protocols, HTTP and WebSocket: router, parameters, authentication, bodies and responses."""
