"""What a command is asked about: functions by name, arguments, files and transforms."""
