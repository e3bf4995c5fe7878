"""A workbench in the browser; see `sparkleene serve`."""
