"""Output of all commands: results, tables, progress bars, and watching."""
