"""The same controller twice, on our loop and on kopf, and what it takes to run them side by side."""
