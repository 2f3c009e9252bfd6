"""What the Makefile runs besides the package's own commands."""
