"""How `reroll` finds repetitions, explains their differences, and writes them as one loop."""
