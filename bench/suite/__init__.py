"""All benchmarks in one run (``make bench``), and the comparison with the committed ratios (``make bench-check``)."""
