"""The report of a load run: one HTML page with plots, made of the run's JSON."""
