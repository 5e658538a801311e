"""The documentation site: what MkDocs needs besides the files of docs/."""
