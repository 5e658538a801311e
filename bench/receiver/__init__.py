"""A webhook receiver that counts, in a process of its own: `python -m bench.receiver`.

It prints its ports as JSON and serves until it is terminated. `POST` to any path is a delivery: the body
names itself by `"n":<int>` and when it was due by `"sentAt":<seconds>`. `GET /counts` tells how many
came, `/stats` that and latencies, `/order` how many came behind a later one of their lane, `/log` every
arrival in order. `POST /-/reset` starts over, with a behaviour as its body.
"""
