"""What converted functions call, so that branches, loops and calls on traced values become part of the program."""
