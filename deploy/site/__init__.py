"""The documentation site: what MkDocs is given beside the files of docs/."""
