"""Tables that show files of others: tags, clones, branches, and who needs whose files."""
