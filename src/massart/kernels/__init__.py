"""Every compiled loop and nothing else: pure functions on arrays, in place."""
