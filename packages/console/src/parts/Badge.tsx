import type { ReactNode } from "react"

export type Tone = "good" | "warn" | "bad" | "info" | "plain"

const tones: Readonly<Record<Tone, string>> = {
  good: "bg-good-soft text-good",
  warn: "bg-warn-soft text-warn",
  bad: "bg-bad-soft text-bad",
  info: "bg-info-soft text-info",
  plain: "bg-sunken text-muted",
}

/** A status as a coloured word. The word alone is enough for users who cannot see the colour. */
export const Badge = ({ tone = "plain", children }: { readonly tone?: Tone; readonly children: ReactNode }) => (
  <span
    className={`inline-flex items-center justify-self-start align-middle gap-1.5 rounded-full px-2 py-0.5 text-xs font-medium whitespace-nowrap ${tones[tone]}`}
  >
    <span aria-hidden="true" className="size-1.5 rounded-full bg-current" />
    {children}
  </span>
)

const toneByWord: Readonly<Record<string, Tone>> = {
  running: "info",
  processing: "info",
  pending: "plain",
  waiting: "plain",
  suspended: "plain",
  final: "good",
  completed: "good",
  stored: "good",
  handled: "warn",
  "set-aside": "warn",
  paused: "warn",
  skipped: "warn",
  stopped: "warn",
  interrupted: "warn",
  held: "bad",
  failed: "bad",
}

export const toneOf = (word: string): Tone => toneByWord[word.toLowerCase()] ?? "plain"

/** The status of an instance. It is `failed` where the instance ended in a final state of failure. */
export const StatusBadge = ({ status, outcome }: { readonly status: string; readonly outcome?: "failure" | undefined }) => {
  const word = outcome === "failure" ? "failed" : status
  return <Badge tone={toneOf(word)}>{word}</Badge>
}

/** The name of a state, in a heavier font than other text. */
export const StateName = ({ children }: { readonly children: ReactNode }) => <span className="font-medium">{children}</span>
