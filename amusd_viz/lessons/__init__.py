"""What makes the notebooks lessons."""
