"""Versions of tables as sets of files: how to get from one to another, and what may go along."""
