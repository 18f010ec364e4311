"""The command `alluvium`: each of its words."""
