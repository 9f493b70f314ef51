"""The `paddle-operator` command: one file per verb."""
