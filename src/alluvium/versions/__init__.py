"""Moving through time: tags, clones, branches, differences, and what was before."""
