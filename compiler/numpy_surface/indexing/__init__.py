"""Taking, putting, sorting and searching; sets."""
