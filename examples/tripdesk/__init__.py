"""TripDesk: a small real app on toolwitness. An agent compares routes and books one; a person watches and decides."""
