/** The frames of a page: its head, panels, and placeholders for data that is loading, missing or refused. */
import type { UseQueryResult } from "@tanstack/react-query"
import { type ReactNode, useEffect, useState } from "react"
import { isMissing, Refused } from "../api/Client.ts"
import { useSession } from "../api/SessionContext.ts"
import { Link } from "../browser/Router.tsx"
import { Button } from "./Button.tsx"
import { CopyButton, commandOf } from "./Copy.tsx"
import { Icon } from "./Icon.tsx"

interface Crumb {
  readonly text: string
  readonly href: string
}

export const PageHead = ({
  title,
  crumbs = [],
  badges,
  actions,
  children,
}: {
  readonly title: string
  readonly crumbs?: ReadonlyArray<Crumb>
  readonly badges?: ReactNode
  readonly actions?: ReactNode
  readonly children?: ReactNode
}) => (
  <header className="mb-4 flex flex-wrap items-start gap-x-4 gap-y-2">
    <title>{`${title} · Detent`}</title>
    <div className="min-w-0 flex-1 basis-72">
      {crumbs.length === 0 ? null : (
        <nav aria-label="Breadcrumb" className="mb-0.5 flex flex-wrap gap-1 text-xs text-muted">
          {crumbs.map(({ text, href }) => (
            <span key={href} className="flex gap-1">
              <Link href={href} className="hover:text-accent hover:underline">
                {text}
              </Link>
              <span aria-hidden="true">/</span>
            </span>
          ))}
        </nav>
      )}
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <h1 className="min-w-0 text-xl font-semibold tracking-tight break-all">{title}</h1>
        {badges}
      </div>
      {children === undefined ? null : <div className="mt-1 text-muted">{children}</div>}
    </div>
    {actions === undefined ? null : <div className="flex flex-wrap items-center gap-2">{actions}</div>}
  </header>
)

export const Panel = ({
  title,
  aside,
  children,
  className = "",
  flush = false,
}: {
  readonly title?: ReactNode
  readonly aside?: ReactNode
  readonly children: ReactNode
  readonly className?: string
  /** Content reaches the edges, as tables do. */
  readonly flush?: boolean
}) => (
  <section className={`card min-w-0 ${className}`}>
    {title === undefined ? null : (
      <div className="flex min-h-11 flex-wrap items-center justify-between gap-x-3 gap-y-1 border-b border-line px-4 py-2">
        <h2 className="text-sm font-semibold">{title}</h2>
        {aside === undefined ? null : <div className="flex flex-wrap items-center gap-2 text-xs text-muted">{aside}</div>}
      </div>
    )}
    <div className={flush ? "" : "p-4"}>{children}</div>
  </section>
)

/** Grey bars while data is loading. They appear only after 150 ms; after 10 seconds they say that the answer is late. */
export const Skeleton = ({ rows = 4 }: { readonly rows?: number }) => (
  <div className="late grid gap-2.5 p-3">
    {Array.from({ length: rows }, (_, index) => (
      // biome-ignore lint/suspicious/noArrayIndexKey: the bars are all the same.
      <div key={index} aria-hidden="true" className={`pulse-soft h-4 rounded bg-line ${index % 3 === 2 ? "w-2/3" : "w-full"}`} />
    ))}
    <Overdue />
  </div>
)

/** An answer that is not there after this many milliseconds is late. */
const overdueMillis = 10_000

const Overdue = () => {
  const [isOverdue, setIsOverdue] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setIsOverdue(true), overdueMillis)
    return () => clearTimeout(timer)
  }, [])
  return isOverdue ? (
    <p role="status" className="text-muted">
      The server has not answered for {overdueMillis / 1000} seconds. It may be busy; the page shows the answer when it arrives.
    </p>
  ) : null
}

/** An empty list, with the command that changes it. */
export const Empty = ({ children, command }: { readonly children: ReactNode; readonly command?: string }) => {
  const { session } = useSession()
  const shown = command === undefined ? undefined : commandOf(session, command)
  return (
    <div className="grid justify-items-center gap-3 px-4 py-8 text-center text-muted">
      <p className="max-w-prose">{children}</p>
      {shown === undefined ? null : (
        <div className="flex max-w-full items-center gap-1 rounded-lg border border-line bg-sunken py-1 pr-1 pl-3">
          <code className="overflow-x-auto font-mono text-xs text-ink">{shown}</code>
          <CopyButton text={shown} label="Copy the command" />
        </div>
      )}
    </div>
  )
}

export const ProblemNote = ({ problem, onRetry }: { readonly problem: Error; readonly onRetry?: () => void }) => (
  <div role="alert" className="m-3 flex flex-wrap items-center gap-3 rounded-lg bg-bad-soft px-3 py-2.5 text-bad">
    <Icon name="alert" />
    <div className="min-w-0 flex-1 basis-60">
      <p className="font-medium">{problem instanceof Refused ? problem.title : "No answer"}</p>
      <p className="break-words">{problem.message}</p>
    </div>
    {onRetry === undefined ? null : <Button onClick={onRetry}>Retry</Button>}
  </div>
)

/** Shows an answer, or the error. The previous answer stays while the next one is loading. */
export const Answer = <A,>({
  of,
  rows,
  children,
  missing,
}: {
  readonly of: UseQueryResult<A, Error>
  readonly rows?: number
  readonly children: (answer: A) => ReactNode
  /** Shown instead of a 404 error. */
  readonly missing?: ReactNode
}) => {
  if (of.data !== undefined) return children(of.data)
  if (of.error !== null) {
    if (missing !== undefined && isMissing(of.error)) return missing
    return <ProblemNote problem={of.error} onRetry={() => void of.refetch()} />
  }
  return <Skeleton rows={rows ?? 4} />
}
