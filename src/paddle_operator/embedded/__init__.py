"""One machine without a cluster: an API server inside of the process, and what turns its pods into processes."""
