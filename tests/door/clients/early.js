// Post a body several times over HTTP/2 and print the status of each: node early.js URL TIMES SIZE KEY TYPE
const http2 = require("node:http2");
const [url, times, size, key, type] = process.argv.slice(2);
const session = http2.connect(url);
session.on("error", () => {});
let left = Number(times);
function ask() {
  const headers = { ":method": "POST", ":path": "/events", "content-type": type, "content-length": size };
  if (key) headers.authorization = "Bearer " + key;
  const stream = session.request(headers);
  let status = 0;
  stream.on("response", (head) => { status = head[":status"]; });
  stream.on("error", (error) => { status = status || error.code; });
  stream.on("data", () => {});
  stream.on("close", () => {
    console.log(status + " " + stream.rstCode);
    left -= 1;
    if (left) ask(); else session.close();
  });
  stream.end(Buffer.alloc(Number(size), "x"));
}
ask();
