"""Requests and answers: access, errors, templates, connections."""
