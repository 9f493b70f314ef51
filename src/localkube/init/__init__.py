"""The first process of a cluster and of each node: sets up its namespaces, then keeps its programs running."""
