/** A list of instances in a component. */

// This package runs without Effect, so time comes from the platform.
// @effect-diagnostics globalTimers:off
import type { AnyMachine, IndexesOf, ListedInstance, ListOptions, MachineClient, StateOf } from "@detent/client"
import { useEffect, useState } from "react"

export interface UseInstancesOptions<S, X = Record<never, never>> extends Omit<ListOptions<S, X>, "signal" | "order"> {
  /** By the time of the last change, or by an indexed field. Default: those that changed last first; with `where` or `labels` by id. */
  readonly order?: ListOptions<S, X>["order"]
  /** Milliseconds between reads while the page is visible. Default: 5,000. */
  readonly refresh?: number
}

export interface UsedInstances {
  /** Undefined until the server has answered. */
  readonly instances: ReadonlyArray<ListedInstance> | undefined
  /** Pass it as `after` for the next page. */
  readonly next: string | undefined
  readonly error: Error | undefined
  /** Set while a new index is filled: some instances may be missing. */
  readonly filling: { readonly filled: number } | undefined
}

const nothing: UsedInstances = { instances: undefined, next: undefined, error: undefined, filling: undefined }

/** Reads the list again while the page is visible, and when it becomes visible. */
export const useInstances = <M extends AnyMachine>(
  client: MachineClient<M>,
  { refresh = 5000, ...options }: UseInstancesOptions<StateOf<M>, IndexesOf<M>> = {},
): UsedInstances => {
  const [used, use] = useState(nothing)
  // Callers write the conditions in their components, as a new object each time.
  const isSearch = options.where !== undefined || options.labels !== undefined
  const conditions = JSON.stringify(isSearch ? options : { order: "newest", ...options })
  useEffect(() => {
    const leaving = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const read = async () => {
      clearTimeout(timer)
      try {
        const read = { ...(JSON.parse(conditions) as ListOptions<StateOf<M>, IndexesOf<M>>), signal: leaving.signal }
        const { instances, next, filling } = await client.list(read)
        if (!leaving.signal.aborted) use({ instances, next, error: undefined, filling })
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
