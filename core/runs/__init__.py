"""Network runs of a project: sources read, directories made, facts fed in, work sent on its way."""
