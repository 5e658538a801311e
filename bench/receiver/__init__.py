"""The counting webhook receiver, a separate process: `python -m bench.receiver`.

`POST` to any path is a delivery, whose body has the number `"n":<int>` and the due time
`"sentAt":<seconds>`. `GET /counts` returns counts; `/stats`, counts and latencies; `/paths`, the arrivals
by path; `/order`, the number of arrivals after a later event of their lane; `/log`, every arrival in
order. `POST /-/reset` starts a new record; its body is the JSON of a
`bench.receiver.behaviour.Behaviour`.
"""
