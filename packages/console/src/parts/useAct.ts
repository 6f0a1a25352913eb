/** Runs a write, shows its result in a toast, and reloads all data, which may have changed. */
import { useQueryClient } from "@tanstack/react-query"
import { useCallback, useRef, useState } from "react"
import { submit, type Write } from "../api/Client.ts"
import { type Toast, useToast } from "./Toasts.tsx"

export const useAct = () => {
  const client = useQueryClient()
  const toast = useToast()
  const [isBusy, setIsBusy] = useState(false)
  const underWay = useRef(new Set<string>())
  /** Resolves to `{ answer }`, whose `answer` is undefined for an empty body. Resolves to undefined, with a toast, for a refusal. */
  const act = useCallback(
    async <A>(change: Write, done: (answer: A) => Toast): Promise<{ readonly answer: A } | undefined> => {
      // Ignores a second click before the answer.
      const same = `${change.method} ${change.path} ${JSON.stringify(change.body)}`
      if (underWay.current.has(same)) return undefined
      underWay.current.add(same)
      setIsBusy(true)
      try {
        const answer = await submit<A>(change)
        toast(done(answer))
        void client.invalidateQueries()
        return { answer }
      } catch (reason) {
        toast({ text: reason instanceof Error ? reason.message : String(reason), tone: "bad" })
        return undefined
      } finally {
        underWay.current.delete(same)
        setIsBusy(underWay.current.size > 0)
      }
    },
    [client, toast],
  )
  return { act, isBusy }
}
