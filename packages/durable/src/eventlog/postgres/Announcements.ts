/** What processes tell each other through PostgreSQL's NOTIFY: how far a journal has come. */

export const channel = "detent_domain_events"

export interface Announcement {
  readonly schema: string
  readonly journal: string
  readonly position: number
}

export const announcement = ({ schema, journal, position }: Announcement): string => JSON.stringify([schema, journal, position])

/** Anybody may NOTIFY: what cannot be read is nobody's. */
export const announcementOf = (payload: string): Announcement | undefined => {
  try {
    const parsed: unknown = JSON.parse(payload)
    if (!Array.isArray(parsed)) return undefined
    const [schema, journal, position] = parsed
    if (typeof schema !== "string" || typeof journal !== "string" || !Number.isSafeInteger(position)) return undefined
    return { schema, journal, position }
  } catch {
    return undefined
  }
}
