"""Public data replayed as landing files: the reference feeds `flights` and `edits`."""
