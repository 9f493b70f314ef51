"""The `localkube` command."""
