"""What a SampleSet becomes: a volume, servers next to the data, labels of nodes, orders, and a status."""
