"""What the user says of a table's layout, apart from the table's state."""
