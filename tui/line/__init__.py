"""The line after `:`: parsing, completion, history and carrying out."""
