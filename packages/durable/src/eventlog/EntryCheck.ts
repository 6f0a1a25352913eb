/** What no store can take or give back, found before anything is written, so that one such event cannot fail a whole batch. */
import type { Entry } from "effect/unstable/eventlog/EventJournal"
import { EntryRefused } from "./DomainEventError.ts"

/** Half of what the PostgreSQL driver reads of one message: what can be written can be read. */
const payloadLimit = 8 * 1024 * 1024
/** A PostgreSQL index takes 2,700 bytes. */
const keyLimit = 2_000

export const checkEntry = (journal: string, { event, primaryKey, payload }: Entry): EntryRefused | undefined => {
  const problem =
    problemOfText("its tag", event) ??
    problemOfText("its primary key", primaryKey) ??
    (bytesOf(event) + bytesOf(primaryKey) > keyLimit ? `tag and primary key are longer than ${keyLimit} bytes` : undefined) ??
    (payload.length > payloadLimit
      ? `its payload has ${payload.length} bytes, more than ${payloadLimit}; keep large things elsewhere and store where they are`
      : undefined)
  return problem === undefined ? undefined : new EntryRefused({ journal, event: event.slice(0, 100), problem })
}

const bytesOf = (text: string): number => new TextEncoder().encode(text).length

const problemOfText = (what: string, text: string): string | undefined => {
  if (text.includes("\u0000")) return `${what} contains the character 0, which databases have not in texts`
  return text.isWellFormed() ? undefined : `${what} contains half of a character`
}
