"""An API server inside of the process: the kinds, verbs and words of a real one, as far as its contract goes."""
