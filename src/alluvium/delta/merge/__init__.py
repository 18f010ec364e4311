"""What a merge takes of Delta's own command, and the batch that it brings."""
