"""Files of Delta tables: where they lie."""
