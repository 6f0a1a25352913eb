/**
 * Orders test files by their durations in earlier runs, which Vitest stores in node_modules, the longest first and across projects, so that
 * no long file runs alone at the end. Files without a duration, such as all files in a fresh clone, come first: those that start processes,
 * then by size.
 */
import { readFileSync } from "node:fs"
import { BaseSequencer, type TestSpecification } from "vitest/node"

/** What long tests have in common: they start processes or a browser, or run on PostgreSQL. */
const signs = /Process|[Kk]ill|[Bb]rowser|[Pp]ostgres/g

const weightOf = (file: string) => {
  const text = readFileSync(file, "utf8")
  return text.length * (1 + (text.match(signs)?.length ?? 0))
}

export class LongestFirst extends BaseSequencer {
  override sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const ranked = files.map((file) => {
      const duration = this.ctx.cache.getTestSpecificationResult(file)?.duration
      return { file, duration: duration ?? Number.POSITIVE_INFINITY, weight: duration === undefined ? weightOf(file.moduleId) : 0 }
    })
    const sorted = ranked.toSorted((one, other) =>
      one.duration === other.duration ? other.weight - one.weight : other.duration > one.duration ? 1 : -1,
    )
    return Promise.resolve(sorted.map(({ file }) => file))
  }
}
