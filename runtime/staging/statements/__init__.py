"""The hooks that converted functions call for their statements and expressions."""
