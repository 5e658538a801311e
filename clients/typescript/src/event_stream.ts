/** The reader of server-sent events whose data is JSON. */

/** Yield each event's name and data, without comments. */
export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<[string, unknown]> {
  const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
  let held = "";
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      held += value;
      const blocks = held.split("\n\n");
      held = blocks.pop() ?? "";
      for (const block of blocks) {
        const event = eventOf(block);
        if (event !== null) yield event;
      }
    }
  } finally {
    await reader.cancel();
  }
}

function eventOf(block: string): [string, unknown] | null {
  let name = "message";
  const data: string[] = [];
  for (const line of block.split("\n")) {
    const [field = "", value = ""] = line.split(/: ?(.*)/s, 2);
    if (field === "event") name = value;
    if (field === "data") data.push(value);
  }
  return data.length === 0 ? null : [name, JSON.parse(data.join("\n"))];
}
