/**
 * Asks a server whether it is live, again and again, from a process of its own: a test that is busy itself cannot measure how soon
 * another process answers. Argument: the address. A message of its parent is answered with what was measured since the last.
 */
const [, , url = ""] = process.argv

let took: Array<number> = []

process.on("message", () => {
  const sorted = took.toSorted((one, other) => one - other)
  took = []
  process.send?.({ count: sorted.length, median: sorted[sorted.length >> 1] ?? 0, slowest: sorted.at(-1) ?? 0 })
})
process.on("disconnect", () => process.exit())

for (;;) {
  const start = performance.now()
  const response = await fetch(`${url}/health/live`)
  await response.text()
  if (!response.ok) process.exit(1)
  took.push(performance.now() - start)
  await new Promise((resume) => setTimeout(resume, 5))
}
