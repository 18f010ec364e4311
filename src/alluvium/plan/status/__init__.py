"""How tables and feeds stand, what is due, and the lines that say it."""
