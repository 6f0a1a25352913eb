/**
 * Checks that every regular expression in the sources of the packages takes a time that grows with the length of the text, not with its
 * square: a text of a client could otherwise block a server for minutes. `reviewed.json` lists the exceptions, with the reason of each.
 *
 * The analysis is installed here on first use. Its results are kept in node_modules/.cache, so that only new patterns take time.
 */
import { createHash } from "node:crypto"
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"
import { pathToFileURL } from "node:url"
import { installOnDemand } from "../install-on-demand.mjs"
import { root } from "../projects.mjs"
import { patternsOf } from "./collect.ts"

/**
 * One seed for the search for slow texts, so that a pattern gets the same verdict in every run. The limit, in milliseconds, ends only what
 * hangs: most patterns take a few, the longest alternations seconds, and more beside other work.
 */
const analysis = { randomSeed: 1, timeout: 600_000 }

/**
 * The analysis takes a match that exceeds its limit of time for a slow one, which a busy machine makes of linear patterns. What it finds
 * without a review is analysed again with limits of steps, which are reached before those of time.
 */
const patientAnalysis = { ...analysis, attackLimit: 150_000_000, attackTimeout: 30_000, incubationTimeout: 10_000, seedingTimeout: 5_000 }

/** @typedef {{ readonly file: string, readonly pattern: string, readonly reason: string }} Reviewed the pattern by the beginning of its text */
/** @typedef {{ readonly isSafe: boolean, readonly finding: string }} Verdict */

const cacheFile = join(root, "node_modules/.cache/detent-patterns.json")

if (!installOnDemand(import.meta.dirname, "the analysis of regular expressions")) process.exit(1)
const { resolve } = createRequire(import.meta.url)
/** @type {{ check: (source: string, flags: string, options: object) => Promise<Diagnostics> }} */
const { check } = await import(pathToFileURL(resolve("recheck")).href)

/**
 * @typedef {{
 *   readonly status: "safe" | "vulnerable" | "unknown"
 *   readonly complexity?: { readonly summary: string }
 *   readonly attack?: { readonly pattern: string }
 *   readonly error?: { readonly kind: string }
 * }} Diagnostics
 */

/** @type {ReadonlyArray<Reviewed>} */
const reviewed = JSON.parse(readFileSync(join(import.meta.dirname, "reviewed.json"), "utf8"))
const patterns = globSync("packages/*/src/**/*.{ts,tsx}", { cwd: root })
  .filter((file) => !file.endsWith(".d.ts"))
  .sort()
  .flatMap((file) => patternsOf(file.replaceAll("\\", "/"), readFileSync(join(root, file), "utf8")))
const verdicts = await verdictsOn(patterns)

/**
 * @param {Reviewed} entry
 * @param {import("./collect.ts").Pattern} one
 */
const covers = ({ file, pattern }, one) => one.file === file && one.text.startsWith(pattern)
const findings = patterns.flatMap((one) => {
  const { isSafe, finding } = verdicts.get(keyOf(one)) ?? { isSafe: false, finding: "is computed, so it cannot be analysed" }
  return isSafe || reviewed.some((entry) => covers(entry, one)) ? [] : [{ ...one, finding }]
})
const confirmed = []
for (const one of findings) {
  const { isSafe, finding } =
    one.pattern === undefined ? { ...one, isSafe: false } : verdictOn(await check(one.pattern.source, one.pattern.flags, patientAnalysis))
  if (!isSafe) confirmed.push({ ...one, finding })
}
const problems = [
  ...confirmed.map(({ file, line, text, finding }) => `${file}:${line}: ${text} ${finding}`),
  ...reviewed
    .filter((entry) => !patterns.some((one) => covers(entry, one)))
    .map(({ file, pattern }) => `scripts/patterns/reviewed.json: ${file} has no ${pattern}`),
]
for (const problem of problems) console.error(problem)
if (problems.length > 0) {
  console.error(
    "Write a pattern that takes linear time, or code, or give the reason why no user input reaches it in scripts/patterns/reviewed.json",
  )
  process.exitCode = 1
}
// The analysis keeps a process of its own waiting for further patterns.
process.exit()

/**
 * @param {ReadonlyArray<import("./collect.ts").Pattern>} all
 * @returns {Promise<ReadonlyMap<string, Verdict>>} by the key of each pattern that is not computed
 */
async function verdictsOn(all) {
  const known = new Map(cached())
  const unknown = [
    ...new Map(all.flatMap((one) => (one.pattern === undefined || known.has(keyOf(one)) ? [] : [[keyOf(one), one.pattern]]))),
  ]
  await Promise.all(
    [0, 1].map(async (half) => {
      for (const [key, { source, flags }] of unknown.filter((_, index) => index % 2 === half))
        known.set(key, verdictOn(await check(source, flags, analysis)))
    }),
  )
  const needed = new Set(all.map(keyOf))
  mkdirSync(dirname(cacheFile), { recursive: true })
  writeFileSync(cacheFile, JSON.stringify({ version: fingerprint(), verdicts: [...known].filter(([key]) => needed.has(key)) }))
  return known
}

/** @returns {ReadonlyArray<readonly [string, Verdict]>} none if another version of the analysis found them */
function cached() {
  try {
    const { version, verdicts } = JSON.parse(readFileSync(cacheFile, "utf8"))
    return version === fingerprint() ? verdicts : []
  } catch {
    // There is no cache yet, or its writer was interrupted.
    return []
  }
}

/**
 * @param {Diagnostics} diagnostics
 * @returns {Verdict}
 */
function verdictOn({ status, complexity, attack, error }) {
  if (status === "safe") return { isSafe: true, finding: "" }
  const reason = status === "unknown" ? `cannot be analysed (${error?.kind})` : `is not linear (${complexity?.summary})`
  return { isSafe: false, finding: attack === undefined ? reason : `${reason}, for example for ${attack.pattern}` }
}

/** @param {import("./collect.ts").Pattern} one */
function keyOf({ pattern }) {
  return pattern === undefined ? "" : `/${pattern.source}/${pattern.flags}`
}

/** Of the version of the analysis and its options. */
function fingerprint() {
  return createHash("sha256")
    .update(readFileSync(join(import.meta.dirname, "package-lock.json")))
    .update(JSON.stringify(analysis))
    .digest("hex")
}
