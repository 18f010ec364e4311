"""What is said of a layout that a project's queries ask for."""
