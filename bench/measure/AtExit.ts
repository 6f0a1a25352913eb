/** What must be done when this process ends, whatever ends it; only what takes no waiting. */
const left = new Set<() => void>()

/** Returns how to do it now instead. */
export const atExit = (clean: () => void): (() => void) => {
  if (left.size === 0) process.once("exit", cleanAll)
  left.add(clean)
  return () => {
    left.delete(clean)
    if (left.size === 0) process.off("exit", cleanAll)
    clean()
  }
}

const cleanAll = () => {
  for (const clean of left) clean()
}
