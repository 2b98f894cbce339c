"""What `make` calls.  Each file is one command."""
