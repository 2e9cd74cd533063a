"""Online learners and bandits: everything that has a state between rounds."""
