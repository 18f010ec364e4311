"""The parts of a merge that need the session: progress, and the statement's own commit."""
