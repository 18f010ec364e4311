"""Files of Delta tables: where they lie, and what they hold."""
