/** A list of instances in a component. */

// This package runs without Effect, so time comes from the platform.
// @effect-diagnostics globalTimers:off
import type { AnyMachine, ListedInstance, ListOptions, MachineClient, StateOf } from "@detent/client"
import { useEffect, useState } from "react"

export interface UseInstancesOptions<S> {
  /** Which instances, in which order. Default: all, those that changed last first. */
  readonly where?: Omit<ListOptions<S>, "signal">
  /** Milliseconds between reads while the page is visible. Default: 5,000. */
  readonly refresh?: number
}

export interface UsedInstances {
  /** Undefined until the server has answered. */
  readonly instances: ReadonlyArray<ListedInstance> | undefined
  /** Pass it as `where.after` for the next page. */
  readonly next: string | undefined
  readonly error: Error | undefined
}

const nothing: UsedInstances = { instances: undefined, next: undefined, error: undefined }

/** Reads the list again while the page is visible, and when it becomes visible. */
export const useInstances = <M extends AnyMachine>(
  client: MachineClient<M>,
  { where, refresh = 5000 }: UseInstancesOptions<StateOf<M>> = {},
): UsedInstances => {
  const [used, use] = useState(nothing)
  // Callers write the conditions in their components, as a new object each time.
  const conditions = JSON.stringify({ order: "newest", ...where })
  useEffect(() => {
    const leaving = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async () => {
      clearTimeout(timer)
      try {
        const { instances, next } = await client.list({ ...(JSON.parse(conditions) as ListOptions<StateOf<M>>), signal: leaving.signal })
        if (!leaving.signal.aborted) use({ instances, next, error: undefined })
      } catch (error) {
        if (!leaving.signal.aborted) use((before) => ({ ...before, error: error instanceof Error ? error : new Error(String(error)) }))
      }
      if (!leaving.signal.aborted && document.visibilityState === "visible") timer = setTimeout(read, refresh)
    }
    const seen = () => {
      if (document.visibilityState === "visible") void read()
    }
    document.addEventListener("visibilitychange", seen)
    void read()
    return () => {
      leaving.abort()
      clearTimeout(timer)
      document.removeEventListener("visibilitychange", seen)
    }
  }, [client, conditions, refresh])
  return used
}
