"""For authors of passes, ops and backends: run a pass, and prove that it keeps the meaning."""
