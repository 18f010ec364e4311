"""Rounds in which writers are killed and disturbed."""
