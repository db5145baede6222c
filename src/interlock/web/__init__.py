"""The operator's side over HTTP: REST under /api/v1, and the figures for whoever watches. It decides nothing itself."""

PREFIX = "/api/v1"
