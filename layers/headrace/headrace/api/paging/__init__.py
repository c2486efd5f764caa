"""Pages of lists: requests, cursors, walks over ranges of a table, and the pages themselves."""
