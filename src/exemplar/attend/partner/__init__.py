"""The partner of the ClickMe game: who guesses what is being uncovered."""
