"""From what was observed of a CacheBackend to the objects of its engine and its status."""
