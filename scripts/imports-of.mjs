/** @typedef {{ readonly specifier: string, readonly typesOnly: boolean, readonly line: number }} Import */

const names = String.raw`(?:[\w$]+|\*(?:\s+as\s+[\w$]+)?|\{[^}]*\})`

/**
 * The imports of a source or declaration file: statements, `import(...)` calls and `import(...)` types.
 *
 * @param {string} source
 * @returns {ReadonlyArray<Import>}
 */
export function importsOf(source) {
  // Matches statements at the start of a line only, so that examples in comments do not count.
  const statements = [
    new RegExp(String.raw`^(?:import|export)\s+(type\s+)?${names}(?:\s*,\s*${names})?\s+from\s+["']([^"']+)["']`, "gm"),
    /^import()\s+["']([^"']+)["']/gm,
  ].flatMap((pattern) =>
    [...source.matchAll(pattern)].map((match) => ({
      specifier: match[2] ?? "",
      typesOnly: Boolean(match[1]),
      line: source.slice(0, match.index).split("\n").length,
    })),
  )
  const expressions = source.split("\n").flatMap((text, index) =>
    /^\s*(?:\/?\*|\/\/)/.test(text)
      ? []
      : [...text.matchAll(/\bimport\(\s*["']([^"']+)["']/g)].map((match) => ({
          specifier: match[1] ?? "",
          typesOnly: false,
          line: index + 1,
        })),
  )
  return [...statements, ...expressions]
}
