"""Looks a name up as any program of the pod would, and prints its first address."""

import socket
import sys


def main() -> None:
    name = sys.argv[1]
    try:
        found = socket.getaddrinfo(name, None, socket.AF_INET, socket.SOCK_STREAM)
    except socket.gaierror as error:
        sys.exit(f"{name} not found: {error.strerror}")
    sys.stdout.write(f"{found[0][4][0]}\n")


if __name__ == "__main__":
    main()
