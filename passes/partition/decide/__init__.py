"""After regions are formed: what backends decide of theirs, what each costs, who has what in the end."""
