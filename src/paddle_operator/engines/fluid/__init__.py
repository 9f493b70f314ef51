"""Fluid: the objects of a cache on it, and what it says of them."""
