"""Images without a registry: made on this machine, and put into every node."""
