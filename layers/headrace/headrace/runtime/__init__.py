"""What every function uses: settings, logs and metrics, AWS clients, secrets, circuit breakers, cool-downs."""
