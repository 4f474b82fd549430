"""The page of projects: a folder of them, new ones from files that people drop, and each project's page below it."""
