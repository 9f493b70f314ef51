"""The only package that talks to the API server: what to ask, how to reach it, and how to keep watching."""
