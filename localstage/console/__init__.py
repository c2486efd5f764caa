"""The console's part of the stage: its files, and what only a page of the local stage can ask for."""
