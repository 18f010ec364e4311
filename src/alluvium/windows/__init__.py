"""Windows of event time: what a microbatch overwrites, and nothing beside it."""
