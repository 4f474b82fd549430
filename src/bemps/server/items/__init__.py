"""Items as the page shows them: columns beside the text, Markdown, highlights."""
