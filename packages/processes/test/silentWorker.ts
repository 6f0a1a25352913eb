/** A worker that never reports that it has started. */
setInterval(() => undefined, 60_000)
