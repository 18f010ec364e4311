"""What is wrong with the files of tables, and how they come back from files alone."""
