"""What every recorder inside a framework needs: the desk's side of a run, and the guard around one body."""
