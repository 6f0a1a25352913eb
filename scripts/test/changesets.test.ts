/** Every changeset names existing packages and a kind of release, and has a text for users. */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { packages, root } from "../projects.mjs"

const names = packages.map((folder) => JSON.parse(readFileSync(join(root, "packages", folder, "package.json"), "utf8")).name as string)

/** The problems of a changeset. */
const problemsOf = (text: string): ReadonlyArray<string> => {
  const [, head = "", body = ""] = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(text) ?? []
  const releases = head.split("\n").map((line) => /^["']?([^"':]+)["']?: (patch|minor|major)$/.exec(line))
  return [
    ...(releases.length === 0 || releases.includes(null) ? ['it names no release, such as "@detent/machine": minor'] : []),
    ...releases.flatMap((release) => (release !== null && !names.includes(release[1] ?? "") ? [`there is no package ${release[1]}`] : [])),
    ...(body.trim() === "" ? ["it has no text"] : []),
  ]
}

it("every changeset can be released", () => {
  const files = globSync(".changeset/*.md", { cwd: root }).filter((file) => !file.endsWith("README.md"))
  expect(files.flatMap((file) => problemsOf(readFileSync(join(root, file), "utf8")).map((problem) => `${file}: ${problem}`))).toEqual([])
})

it("a changeset of an unknown package or without text is refused", () => {
  expect(problemsOf(`---\n"@detent/machine": minor\n---\n\nTimers have names.\n`)).toEqual([])
  expect(problemsOf(`---\n"@detent/none": patch\n---\n`)).toEqual(["there is no package @detent/none", "it has no text"])
  expect(problemsOf("Timers have names.\n")).toHaveLength(2)
})
