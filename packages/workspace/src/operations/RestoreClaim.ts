/**
 * The claim of a restore on its data folder: the note in the folder names the restoring process, which renews the note while it works.
 * Another process on the same host derives from the name whether that process still runs, also where its process id was reused. On
 * another host, or in another container that shares the volume, the name does not help: there a process whose note is no longer
 * renewed counts as ended.
 */
import { mkdir, open, utimes } from "node:fs/promises"
import { join } from "node:path"
import { CopyFailed } from "@detent/durable/DatabaseCopy"
import { hasEnded, processName } from "@detent/durable/internal"
import { privateFolder } from "@detent/store/internal"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { type RestoreNote, restoreNote } from "../RestoreNote.ts"

/** How often the restoring process renews its note: its heartbeat. */
const renewal = Duration.seconds(5)

/** How long a process of another host waits for a renewal. Spans several renewals: a busy process or a slow volume may miss some. */
const patience = Duration.seconds(30)

/** The name of this process. */
export const restoringProcess = (): string => processName("restore")

/** Writes the note, and renews it until the scope ends. */
export const claim = Effect.fn("RestoreClaim.claim")(function* (
  folder: string,
  note: Omit<RestoreNote, "pid" | "process">,
  write: (file: string, text: string) => Promise<void>,
) {
  const file = join(folder, restoreNote)
  const claimed: RestoreNote = { ...note, pid: process.pid, process: restoringProcess() }
  yield* attempt(async () => {
    await mkdir(folder, { recursive: true, mode: privateFolder })
    await write(file, JSON.stringify(claimed))
  })
  yield* Effect.forkScoped(Effect.repeat(renewed(file), Schedule.spaced(renewal)))
})

const renewed = (file: string) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => attempt(() => utimes(file, now / 1000, now / 1000))).pipe(
    Effect.catch((failed) => Effect.logDebug(`${file} was not renewed`, failed)),
  )

/** Whether the process that wrote a note still restores into the folder. Takes `patience` where that process is not of this host. */
export const isHeld = (folder: string, { pid, process: name }: RestoreNote): Effect.Effect<boolean, CopyFailed> =>
  Effect.gen(function* () {
    // Notes of earlier releases have no name.
    if (name !== undefined && hasEnded(name)) return false
    if (name !== undefined && hostOf(name) === hostOf(restoringProcess())) return true
    const file = join(folder, restoreNote)
    const before = yield* renewedAt(file)
    yield* Effect.logInfo(
      `process ${pid} of another host or container began to restore into ${folder}: waiting ${Duration.format(patience)} for its next heartbeat`,
    )
    yield* Effect.sleep(patience)
    return (yield* renewedAt(file)) !== before
  })

/** The second part of `p.<host>.<pid>.<when it started>.<ending>`. */
const hostOf = (name: string): string | undefined => name.split(".")[1]

/** When a note was last renewed, by the clock of its host. Opens the file, since a network file system may cache the answer to a stat. */
const renewedAt = (file: string): Effect.Effect<number, CopyFailed> =>
  attempt(async () => {
    const opened = await open(file)
    try {
      return (await opened.stat()).mtimeMs
    } finally {
      await opened.close()
    }
  })

const attempt = <A>(run: () => Promise<A>): Effect.Effect<A, CopyFailed> =>
  Effect.tryPromise({ try: run, catch: (cause) => new CopyFailed({ part: restoreNote, cause }) })
