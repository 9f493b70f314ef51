"""What a PaddleJob becomes: pods, services, a config map, a gang, and a status."""
