/** Who looks at the console, and what the session may do. */
import { createContext, use } from "react"
import type { Session } from "../api/types.ts"

export const SessionContext = createContext<Session | undefined>(undefined)

/** `mayNot` says why nothing can be changed here; undefined where it can. */
export const useSession = (): { readonly session: Session | undefined; readonly mayNot: string | undefined } => {
  const session = use(SessionContext)
  if (session === undefined) return { session, mayNot: "The session is not known yet." }
  if (session.observes) return { session, mayNot: "This server only looks. Use one that works." }
  return {
    session,
    mayNot: session.role === "operate" ? undefined : "This session has the role read. Sign in with a token of the role operate.",
  }
}
