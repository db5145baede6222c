"""Official clients, made to follow a script: the same steps for each, and the same kind of transcript from each."""
