"""A table of the decimal texts of small numbers. A look-up takes a tenth of the time of formatting."""

KEPT = 4_096  # 200 KB
DECIMALS = tuple(b"%d" % number for number in range(KEPT))
