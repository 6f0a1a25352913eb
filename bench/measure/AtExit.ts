/** Synchronous clean-up when this process ends, for whatever reason. */
const left = new Set<() => void>()

/** Registers a clean-up. Returns the function that runs it now instead. */
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
