"""The intake: it gathers submissions and commits them group by group, in the order of `seq`."""
