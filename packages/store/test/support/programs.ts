/** Programs that tests start as processes. */
import { existsSync } from "node:fs"
import { join, relative } from "node:path"

const root = join(import.meta.dirname, "../../../..")

/**
 * The file to start for a program: its bundle, which loads in a third of the time, in a run of tests; its source elsewhere, as in
 * `npm run soak`.
 */
export const programOf = (source: string): string => {
  const folder = process.env["DETENT_TEST_PROGRAMS"]
  if (folder === undefined) return source
  const bundle = join(folder, relative(root, source).replace(/\.ts$/, ".mjs"))
  if (!existsSync(bundle)) throw new Error(`${source} is not bundled; name it in scripts/bundlePrograms.ts`)
  return bundle
}
