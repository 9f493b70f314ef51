"""A real Kubernetes on one machine, without Docker: control plane, nodes, network and faults on demand."""
