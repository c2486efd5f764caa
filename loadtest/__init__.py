"""Traffic for a running stage, and the checker that says whether it kept what it accepted."""
