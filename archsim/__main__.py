"""``python -m archsim`` is the command line."""

from archsim.cli.app import main

if __name__ == "__main__":
    main()
