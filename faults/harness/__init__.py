"""The stage under test behind its proxies, the load on it, the outages that break it and the ledger that compares."""
