"""Writes the files that are made of the lists of metrics and alerts: `python -m api.metrics`."""

from api.metrics.files import files

if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text)
