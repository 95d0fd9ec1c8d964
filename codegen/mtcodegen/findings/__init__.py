"""What is wrong, where, and how to say it."""
