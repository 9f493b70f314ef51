"""What a SampleJob becomes: orders to a set's servers, runs of a schedule, and a status."""
