"""`python -m jobs`: the command from a source tree, without installation."""

from jobs.cli import main

if __name__ == "__main__":
    main()
