/** Runs one write at a time: a second click, before the first is answered, does nothing. Each write has an idempotency key of its own. */
import { useCallback, useRef, useState } from "react"

export const useOneAtATime = () => {
  const isRunning = useRef(false)
  const [isBusy, setIsBusy] = useState(false)
  const once = useCallback((work: () => Promise<unknown>) => {
    if (isRunning.current) return
    isRunning.current = true
    setIsBusy(true)
    void work().finally(() => {
      isRunning.current = false
      setIsBusy(false)
    })
  }, [])
  return { once, isBusy }
}
