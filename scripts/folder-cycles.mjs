/** Finds cycles between the folders of a package. */
import { importCycles } from "./import-cycles.mjs"

/**
 * Cycles between the entries of one folder, at every depth. An entry is a file, or a folder with all that it contains. A file at
 * the root of a package counts by itself: a public concept may import a folder whose files import another public concept.
 *
 * @param {ReadonlyMap<string, ReadonlyArray<string>>} imports what each file imports, by paths with "/"; every file is a key
 * @returns {ReadonlyArray<{ readonly cycle: ReadonlyArray<string>, readonly because: ReadonlyArray<string> }>} `cycle` starts
 *   with its first entry by name and does not repeat it at the end; `because` names one import of files for each of its steps
 */
export function folderCycles(imports) {
  return foldersOf(imports.keys()).flatMap((folder) => {
    const { entries, reasons } = entriesOf(folder, imports)
    return importCycles(entries).map((cycle) => ({
      cycle,
      because: cycle.map((entry, index) => reasons.get(`${entry} ${cycle[(index + 1) % cycle.length]}`) ?? ""),
    }))
  })
}

/**
 * Every folder that contains a file, directly or in folders below it, as a prefix such as `src/`.
 *
 * @param {Iterable<string>} files
 */
function foldersOf(files) {
  const folders = new Set([""])
  for (const file of files)
    for (let end = file.indexOf("/"); end !== -1; end = file.indexOf("/", end + 1)) folders.add(file.slice(0, end + 1))
  return [...folders].sort()
}

/**
 * The imports between the entries of one folder.
 *
 * @param {string} folder
 * @param {ReadonlyMap<string, ReadonlyArray<string>>} imports
 */
function entriesOf(folder, imports) {
  /** @param {string} file */
  const entryOf = (file) => folder + file.slice(folder.length).replace(/\/.*$/, "")
  /** @type {Map<string, Array<string>>} */
  const entries = new Map()
  /** @type {Map<string, string>} */
  const reasons = new Map()
  for (const [file, targets] of imports) {
    if (!file.startsWith(folder)) continue
    const entry = entryOf(file)
    const others = entries.get(entry) ?? []
    entries.set(entry, others)
    for (const target of targets) {
      if (!target.startsWith(folder) || entryOf(target) === entry) continue
      others.push(entryOf(target))
      const step = `${entry} ${entryOf(target)}`
      if (!reasons.has(step)) reasons.set(step, `${file} imports ${target}`)
    }
  }
  return { entries, reasons }
}
