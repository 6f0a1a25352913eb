/** Shows the console to a session, and asks for a token where the server needs one. The token becomes a cookie that scripts cannot read. */
import { useQueryClient } from "@tanstack/react-query"
import { type FormEvent, type ReactNode, useEffect, useState } from "react"
import { onDenied, Refused, submit, write } from "../api/Client.ts"
import * as reads from "../api/reads.ts"
import { SessionContext } from "../api/SessionContext.ts"
import { useRead } from "../live/useRead.ts"
import { Button } from "../parts/Button.tsx"
import { ProblemNote, Skeleton } from "../parts/Panel.tsx"

/** How often the session is read: its role changes when the server restarts with another token. */
const everyMillis = 30_000

export const SessionGate = ({ children }: { readonly children: ReactNode }) => {
  const client = useQueryClient()
  const session = useRead(reads.session, { every: everyMillis })
  const isOut = session.error instanceof Refused && session.error.status === 401
  // After a denied request the session is read again: it may have ended, or its role may have changed.
  useEffect(
    () =>
      onDenied((path) => {
        if (path !== reads.session.path) void client.invalidateQueries({ queryKey: [reads.session.path] })
      }),
    [client],
  )
  if (isOut) return <SignIn onDone={() => void client.resetQueries()} />
  if (session.data !== undefined) return <SessionContext value={session.data}>{children}</SessionContext>
  return (
    <main className="mx-auto max-w-xl px-4 py-16">
      <title>Detent</title>
      {session.error === null ? <Skeleton rows={5} /> : <ProblemNote problem={session.error} onRetry={() => void session.refetch()} />}
    </main>
  )
}

const SignIn = ({ onDone }: { readonly onDone: () => void }) => {
  const [token, setToken] = useState("")
  const [problem, setProblem] = useState<string>()
  const [busy, setBusy] = useState(false)
  const signIn = (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    submit(write("POST", ["session"], { token })).then(onDone, (reason: unknown) => {
      setBusy(false)
      setProblem(reason instanceof Error ? reason.message : String(reason))
    })
  }
  return (
    <main className="mx-auto grid min-h-dvh max-w-sm content-center px-4 py-16">
      <title>Sign in · Detent</title>
      <form className="card grid gap-4 p-6" onSubmit={signIn}>
        <div className="flex items-center gap-3">
          <img src="/icon.svg" alt="" width="32" height="32" />
          <h1 className="text-xl font-semibold tracking-tight">Detent</h1>
        </div>
        <p className="text-muted">
          Enter the token that the server was started with. The browser stores a cookie instead of the token; no script can read it.
        </p>
        <div className="grid gap-1">
          <label htmlFor="token" className="label">
            Token
          </label>
          <input
            id="token"
            type="password"
            className="field"
            autoComplete="off"
            spellCheck={false}
            required
            // biome-ignore lint/a11y/noAutofocus: the page has nothing but the form.
            autoFocus
            value={token}
            onChange={({ target }) => setToken(target.value)}
          />
        </div>
        {problem === undefined ? null : (
          <p role="alert" className="text-bad">
            {problem}
          </p>
        )}
        <Button type="submit" look="primary" disabled={busy}>
          Open the console
        </Button>
      </form>
    </main>
  )
}
