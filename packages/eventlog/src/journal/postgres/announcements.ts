/** Processes announce the last position of a journal by PostgreSQL's NOTIFY, and listen for it. */
import type { Subscribe } from "@detent/store/internal"
import type { FollowAnnouncements } from "../JournalFollower.ts"

export const channel = "detent_domain_events"

export interface Announcement {
  readonly schema: string
  readonly journal: string
  readonly position: number
}

export const announcement = ({ schema, journal, position }: Announcement): string => JSON.stringify([schema, journal, position])

/** Any client can NOTIFY: a payload that cannot be read is ignored. */
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

export const announcementsOf =
  (subscribe: Subscribe, schema: string, journal: string): FollowAnnouncements =>
  ({ announced, connected }) =>
    subscribe(channel, {
      connected,
      heard: (payload) => {
        const found = announcementOf(payload)
        if (found?.schema === schema && found.journal === journal) announced(found.position)
      },
    })
