"""What logs of Delta tables say, and what is committed to them."""
