"""What the library knows of Delta tables."""
