"""What a cluster needs of ours before it can do anything: programs, accounts, and the drivers they are known by."""
