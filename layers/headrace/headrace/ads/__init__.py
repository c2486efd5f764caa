"""Ad clicks: what is asked about them, and how little is kept of a client's address."""
