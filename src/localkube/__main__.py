"""`python -m localkube` is the `localkube` command."""

from localkube.cli.main import main

main()
