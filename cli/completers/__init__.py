"""Words that complete a command's arguments. Each module is loaded only for its own arguments."""
