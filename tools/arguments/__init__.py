"""The arguments of commands: functions by name, their arguments, files and transforms."""
