"""What a traced function reads and changes outside of itself."""
