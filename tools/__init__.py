"""What `make` calls: a file is a command, or something that commands and tests share."""
