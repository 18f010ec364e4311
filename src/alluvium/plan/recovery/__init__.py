"""What is wrong with a table's files, from facts about them, and what puts it right."""
