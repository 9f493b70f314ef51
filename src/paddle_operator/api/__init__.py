"""Our kinds as typed structs: the only source of the CRDs."""
