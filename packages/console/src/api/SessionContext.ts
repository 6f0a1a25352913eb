/** The session of the console's user, and its permissions. */
import { createContext, use } from "react"
import type { Session } from "./types.ts"

export const SessionContext = createContext<Session | undefined>(undefined)

/** `mayNot` says why the session may not change anything; undefined where it may. */
export const useSession = (): { readonly session: Session | undefined; readonly mayNot: string | undefined } => {
  const session = use(SessionContext)
  if (session === undefined) return { session, mayNot: "The session is loading." }
  if (session.observes) return { session, mayNot: "This server is read-only (--observe). Use another server." }
  return {
    session,
    mayNot: session.role === "operate" ? undefined : "This session has the role read. Sign in with a token of the role operate.",
  }
}
