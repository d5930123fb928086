"""`python -m screenshots`: draw the pictures of this folder anew."""

from screenshots.make import main

if __name__ == "__main__":
    import sys

    raise SystemExit(main(sys.argv[1:]))
