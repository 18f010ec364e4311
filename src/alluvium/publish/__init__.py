"""What readers see: versions of a table that passed their tests, and nothing else."""
