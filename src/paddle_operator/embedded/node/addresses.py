"""The addresses that pods have; pure."""

import ipaddress

# Set apart for measurements between machines, so nobody's own network has it.
ADDRESSES = ipaddress.ip_network("198.18.0.0/16")
