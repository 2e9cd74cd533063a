"""Compiled loops of learners: rounds, mixtures, baselines."""
