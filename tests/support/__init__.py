"""Helpers that tests and benchmarks share; neither of these imports the other."""
