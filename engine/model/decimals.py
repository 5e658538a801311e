"""The decimal texts of small numbers as bytes: a look-up costs a tenth of formatting."""

KEPT = 4_096  # 200 KB
DECIMALS = tuple(b"%d" % number for number in range(KEPT))
