"""Tables that show versions of their candidates, and how a table is set back."""
