"""The command `python -m api.metrics`: it writes the files generated from the lists of metrics and
alerts."""

from api.metrics.files import files

if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text)
