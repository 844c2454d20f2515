"""What everything stands on: errors, dtypes, files, the cache, finding things. Standard library only."""
