"""The Cache Runtime Server: next to each partition's data, it carries out orders and tells how things stand."""
