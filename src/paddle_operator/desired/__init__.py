"""Pure: from what was observed to the Kubernetes objects and the status that are wanted."""
