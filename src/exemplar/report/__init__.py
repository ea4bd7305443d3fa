"""Tables, figures and pages, made from records and scores alone."""
