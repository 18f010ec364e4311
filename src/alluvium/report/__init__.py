"""What tables went through: their snapshots, segments and blocks, and their history in lines."""
