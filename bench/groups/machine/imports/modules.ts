/** Which modules of other packages a package loads at run time. */
import { readFileSync } from "node:fs"
import { dirname, resolve } from "node:path"

/** Follows the imports of a file. Type imports do not exist at run time and do not count. */
export const modulesOutside = (entry: string): ReadonlyArray<string> => {
  const seen = new Set<string>()
  const outside = new Set<string>()
  const visit = (file: string) => {
    if (seen.has(file)) return
    seen.add(file)
    for (const specifier of importsOf(readFileSync(file, "utf8"))) {
      if (specifier.startsWith(".")) visit(resolve(dirname(file), specifier))
      else outside.add(specifier)
    }
  }
  visit(entry)
  return [...outside].sort()
}

/** Matches static imports at the start of a line only, so that examples in comments do not count. */
const importsOf = (source: string): ReadonlyArray<string> =>
  [...source.matchAll(/^(?:import|export)\s(?!type\s)(?:[^"';]*?\sfrom\s+)?["']([^"']+)["']/gm)].map((match) => match[1] ?? "")
