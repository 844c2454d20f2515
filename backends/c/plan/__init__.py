"""What C will be written: where everything lies, what may alias, the linear form of nests."""
