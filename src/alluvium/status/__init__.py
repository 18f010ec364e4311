"""How a project's tables stand, by their logs alone: no JVM, no lock, no connection, no write."""
