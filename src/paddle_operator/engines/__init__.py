"""What caches and mounts data: the objects it needs, the commands it has, what it reports."""
