/**
 * Keeps the last workspace that a command of this process opened to read, and gives it to the next command that opens the same one, unless
 * something has changed since: its database, the files of the project, the environment. Opening a workspace takes longer than most reads.
 */
import { readdirSync, statSync } from "node:fs"
import { join, resolve } from "node:path"
import { Workspace, type WorkspaceOptions, type WorkspaceServices } from "@detent/workspace/Workspace"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { Workspaces } from "../../src/Workspaces.ts"

interface Kept {
  readonly mark: string
  readonly scope: Scope.Closeable
  readonly services: Context.Context<WorkspaceServices>
}

let kept: Kept | undefined

export const sharedWorkspace = Layer.succeed(Workspaces, {
  open: (options) =>
    Layer.unwrap(
      Effect.gen(function* () {
        const mark = markOf(options)
        if (kept !== undefined && kept.mark === mark) return Layer.succeedContext(kept.services)
        const last = kept
        kept = undefined
        if (last !== undefined) yield* Scope.close(last.scope, Exit.void)
        if (mark === undefined) return Workspace.open(options)
        const scope = yield* Scope.make()
        const services = yield* Layer.buildWithScope(Workspace.open(options), scope).pipe(
          Effect.onError(() => Scope.close(scope, Exit.void)),
        )
        // What opening has written itself counts as known.
        kept = { mark: markOf(options) ?? mark, scope, services }
        return Layer.succeedContext(services)
      }),
    ),
})

/** Everything that an opened workspace depends on. Undefined for one that is not kept: it works, or its database is elsewhere. */
const markOf = ({ data = ".detent", database, role, asked, readable }: WorkspaceOptions): string | undefined => {
  if (role !== "observe" || database !== undefined) return undefined
  const file = join(resolve(data), "detent.db")
  const stored = [file, `${file}-wal`].map(stampOf)
  const project = sourcesIn(".").map((name) => [name, stampOf(name)])
  return JSON.stringify([process.cwd(), data, asked, readable, stored, project, process.env])
}

/** The modules and settings of the project of a test, which are in its folder and the folders there. */
const sourcesIn = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isFile()) return /\.(?:[cm]?[jt]s|json|ya?ml)$/.test(entry.name) ? [path] : []
    return entry.isDirectory() && entry.name !== "node_modules" && !entry.name.startsWith(".") ? sourcesIn(path) : []
  })

const stampOf = (path: string) => {
  const found = statSync(path, { throwIfNoEntry: false })
  return found === undefined ? undefined : [found.ino, found.size, found.mtimeMs]
}
