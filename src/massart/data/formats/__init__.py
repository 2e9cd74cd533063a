"""File formats: one module or a few for each."""
