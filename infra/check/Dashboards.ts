/** Compares the metrics in dashboards with those that the packages define: a misspelt metric gives an empty panel without an error. */
import { globSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

/** The metrics that the sources of the packages define. */
export const metricsDefined = (root: string): ReadonlySet<string> =>
  new Set(
    readdirSync(join(root, "packages")).flatMap((name) => {
      const cwd = join(root, "packages", name, "src")
      return metricsIn(globSync("**/*.ts", { cwd }).map((file) => readFileSync(join(cwd, file), "utf8")))
    }),
  )

/** The metrics of a package: named at their creation, or by a function of the package that adds a common prefix and suffix. */
export const metricsIn = (sources: ReadonlyArray<string>): ReadonlyArray<string> => {
  const source = sources.join("\n")
  const named = [...source.matchAll(/Metric\.\w+\(\s*"(detent_\w+)"/g)].map(([, name = ""]) => name)
  const making = source.matchAll(/const (\w+) = \(name: string[^)]*\) =>\s*Metric\.\w+\(\s*`(detent_\w*)\$\{name\}(\w*)`/g)
  const made = [...making].flatMap(([, maker = "", before = "", after = ""]) =>
    [...source.matchAll(new RegExp(`\\b${maker}\\(\\s*"(\\w+)"`, "g"))].map(([, name = ""]) => `${before}${name}${after}`),
  )
  return [...named, ...made]
}

/** The unknown metrics in the queries of a dashboard, at any depth. */
export const dashboardProblems = (file: string, dashboard: unknown, defined: ReadonlySet<string>): ReadonlyArray<string> =>
  [...new Set(queriesIn(dashboard).flatMap((query) => [...query.matchAll(/\bdetent_\w+/g)].map(([name]) => name)))]
    // A histogram has three series.
    .filter((name) => !defined.has(name) && !defined.has(name.replace(/_milliseconds_(?:bucket|count|sum)$/, "_milliseconds")))
    .map((name) => `${file}: no package defines the metric ${name}`)

const queriesIn = (value: unknown): ReadonlyArray<string> => {
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([key, one]) =>
    (key === "expr" || key === "query") && typeof one === "string" ? [one] : queriesIn(one),
  )
}
