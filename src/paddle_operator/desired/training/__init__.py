"""What jobs of all frameworks have in common: pods, attempts, gangs, and the data that they wait for."""
