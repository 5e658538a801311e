"""The documentation site: the inputs of MkDocs beside the files of docs/."""
