"""What ships for tests: fakes, conformance suites, and drills that kill and race real processes."""
