"""Tables, batches and contenders of the merge benchmarks."""
