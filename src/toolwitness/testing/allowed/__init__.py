"""What whole evidence allows a record to claim, one framework a file; written from the framework's own words, apart from its adapter."""
