"""Files written again: how rows lie in them changes, and no row."""
