"""`python -m sparkleene` is the command `sparkleene`."""

from sparkleene.cli import main

if __name__ == "__main__":
    main()
