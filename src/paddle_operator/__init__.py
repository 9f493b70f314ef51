"""Distributed training on Kubernetes, with its data cached next to the workers."""
