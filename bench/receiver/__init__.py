"""The counting webhook receiver, a separate process: `python -m bench.receiver`.

`POST` to any path is a delivery. Its body has the event's number `"n":<int>`, and the time at which the
event was due to be posted, `"sentAt":<seconds>`.

- `GET /counts` returns counts.
- `GET /stats` returns counts and latencies.
- `GET /paths` returns the arrivals by path.
- `GET /order` returns the number of events that arrived after a later event of the same lane.
- `GET /log` returns every arrival, in order.
- `POST /-/reset` starts a new record. Its body is the JSON of a `bench.receiver.behaviour.Behaviour`.
"""
