"""One machine as the only node of a cluster: pods become processes with mounts, names and addresses of their own."""
