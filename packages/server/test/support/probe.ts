/**
 * Asks servers whether they are live, again and again, from a process of its own: a test that is busy itself cannot measure how soon
 * another process answers. Arguments: the addresses. A message of its parent is answered with the times since the last, by address.
 */
const [, , ...urls] = process.argv

const ask = (url: string) => {
  let took: Array<number> = []
  const times = () => {
    const sorted = took.toSorted((one, other) => one - other)
    took = []
    return { count: sorted.length, median: sorted[sorted.length >> 1] ?? 0, slowest: sorted.at(-1) ?? 0 }
  }
  const again = async () => {
    const start = performance.now()
    const response = await fetch(`${url}/health/live`)
    await response.text()
    if (!response.ok) process.exit(1)
    took.push(performance.now() - start)
    setTimeout(() => void again(), 20)
  }
  void again()
  return times
}

const asked = urls.map(ask)
process.on("message", () => {
  process.send?.(asked.map((times) => times()))
})
process.on("disconnect", () => process.exit())
