"""What must survive a crash."""
