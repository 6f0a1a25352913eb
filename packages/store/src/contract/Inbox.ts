/** The inbox of a machine: the queue of the events and starts that clients of the database have stored by its SQL functions. */
import { reservedPrefix } from "./CommitCheck.ts"

const prefix = `${reservedPrefix}inbox/`

export const inboxOf = (machine: string): string => `${prefix}${machine}`

/** The machine whose inbox a queue is. */
export const machineOfInbox = (queue: string): string | undefined => (queue.startsWith(prefix) ? queue.slice(prefix.length) : undefined)
