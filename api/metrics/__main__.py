"""The command `python -m api.metrics`."""

from api.metrics.files import files

if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text)
