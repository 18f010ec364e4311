"""What tables went through: their snapshots, segments and blocks, and the history on the console."""
