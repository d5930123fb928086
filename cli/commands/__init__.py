"""One module per command; each has `run(args, out) -> exit code`."""
