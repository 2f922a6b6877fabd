"""How `reroll` finds repetitions, explains what differs between them, and writes them as one loop."""
