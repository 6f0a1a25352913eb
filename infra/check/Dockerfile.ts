/** Parses a Dockerfile into stages and instructions. Supports the instructions that ours uses, and refuses others. */
import { matchesGlob } from "node:path"

export type Instruction =
  | { readonly name: "WORKDIR"; readonly path: string }
  | { readonly name: "COPY"; readonly from: string | undefined; readonly sources: ReadonlyArray<string>; readonly to: string }
  | { readonly name: "RUN"; readonly script: string }
  | { readonly name: "ENV"; readonly values: Readonly<Record<string, string>> }
  | Words<"HEALTHCHECK">
  | Words<"ENTRYPOINT">
  | Words<"CMD">
  | Words<"VOLUME">
  | Value<"USER">
  | Value<"EXPOSE">
  | Value<"STOPSIGNAL">

interface Words<Name extends string> {
  readonly name: Name
  readonly words: ReadonlyArray<string>
}

interface Value<Name extends string> {
  readonly name: Name
  readonly value: string
}

export interface Stage {
  readonly image: string
  /** The last stage has no name. */
  readonly name: string | undefined
  readonly instructions: ReadonlyArray<Instruction>
}

export const readDockerfile = (text: string): ReadonlyArray<Stage> => {
  const stages: Array<Stage & { readonly instructions: Array<Instruction> }> = []
  for (const line of linesOf(text)) {
    const [, name = "", rest = ""] = /^(\w+)\s+(.*)$/s.exec(line) ?? []
    if (name === "FROM") {
      const [, image = "", , stage] = /^(\S+)(\s+AS\s+(\S+))?$/.exec(rest) ?? []
      stages.push({ image, name: stage, instructions: [] })
      continue
    }
    const stage = stages.at(-1)
    if (stage === undefined) throw new Error(`Dockerfile: ${name} before FROM`)
    stage.instructions.push(instructionOf(name, rest))
  }
  return stages
}

/** The lines without comments, with continued lines joined. */
const linesOf = (text: string): ReadonlyArray<string> =>
  text
    .split("\n")
    .filter((line) => !/^\s*#/.test(line))
    .join("\n")
    .replace(/\s*\\\n\s*/g, " ")
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")

const instructionOf = (name: string, rest: string): Instruction => {
  const [flags, body] = flagsOf(rest)
  switch (name) {
    case "WORKDIR":
      return { name, path: body }
    case "COPY": {
      const paths = body.split(/\s+/)
      return { name, from: flags["from"], sources: paths.slice(0, -1), to: paths.at(-1) ?? "" }
    }
    case "RUN":
      return { name, script: body }
    case "ENV":
      return { name, values: Object.fromEntries([...body.matchAll(/(\w+)=(\S+)/g)].map(([, key = "", value = ""]) => [key, value])) }
    case "HEALTHCHECK":
      return { name, words: wordsOf(name, body.replace(/^CMD\s+/, "")) }
    case "ENTRYPOINT":
    case "CMD":
    case "VOLUME":
      return { name, words: wordsOf(name, body) }
    case "USER":
    case "EXPOSE":
    case "STOPSIGNAL":
      return { name, value: body }
    default:
      throw new Error(`Dockerfile: infra/check does not support ${name}; add it to infra/check/Dockerfile.ts, or leave it out`)
  }
}

const flagsOf = (rest: string): readonly [Readonly<Record<string, string>>, string] => {
  const flags: Record<string, string> = {}
  let body = rest
  for (let match = /^--([\w-]+)=(\S+)\s+/.exec(body); match !== null; match = /^--([\w-]+)=(\S+)\s+/.exec(body)) {
    flags[match[1] ?? ""] = match[2] ?? ""
    body = body.slice(match[0].length)
  }
  return [flags, body]
}

/** Accepts only lists of words, because a shell in between would keep signals from the process. */
const wordsOf = (name: string, body: string): ReadonlyArray<string> => {
  const words: unknown = body.startsWith("[") ? JSON.parse(body) : undefined
  if (!Array.isArray(words) || !words.every((word) => typeof word === "string"))
    throw new Error(`Dockerfile: write ${name} as a list of words: ["detent"]`)
  return words
}

export const environmentOf = ({ instructions }: Stage): Readonly<Record<string, string>> =>
  Object.assign({}, ...instructions.map((one) => (one.name === "ENV" ? one.values : {})))

const lastOf = <N extends Instruction["name"]>(stage: Stage, name: N) =>
  stage.instructions.findLast((one): one is Extract<Instruction, { readonly name: N }> => one.name === name)

export const dockerfileProblems = (stages: ReadonlyArray<Stage>, ignored: ReadonlyArray<string>): ReadonlyArray<string> => {
  const last = stages.at(-1)
  if (last === undefined) return ["Dockerfile: there is no FROM"]
  const names = new Set(stages.map(({ name }) => name))
  const say = (isRight: boolean, problem: string) => (isRight ? [] : [`Dockerfile: ${problem}`])
  const user = lastOf(last, "USER")?.value ?? "root"
  return [
    ...stages.flatMap(({ image }) => say(/^node:24(?:\.\d+)*-slim$/.test(image) || names.has(image), `${image} is not a Node 24 slim`)),
    ...stages.flatMap(({ instructions }) =>
      instructions.flatMap((one) => {
        if (one.name === "COPY" && one.from !== undefined) return say(names.has(one.from), `COPY from ${one.from}, which is not a stage`)
        if (one.name === "RUN") return say(!/(?:^|[\s=])\/\w/.test(one.script), `RUN ${one.script}: use paths relative to its WORKDIR`)
        return []
      }),
    ),
    ...say(
      last.instructions.every((one) => one.name !== "RUN" && (one.name !== "COPY" || one.from !== undefined)),
      "the image contains more than the earlier stages have built",
    ),
    ...say(!/^(?:root|0)(?::|$)/.test(user), "the image runs as root; set USER node"),
    ...say(lastOf(last, "HEALTHCHECK") !== undefined, "there is no HEALTHCHECK"),
    ...say(lastOf(last, "STOPSIGNAL")?.value === "SIGTERM", "STOPSIGNAL is not SIGTERM"),
    ...say(lastOf(last, "ENTRYPOINT")?.words.join(" ") === "detent", "the entrypoint is not detent"),
    ...say(
      Object.values(environmentOf(last)).every((value) => !/secret|password/i.test(value)),
      "ENV contains a secret",
    ),
    ...[".git", ".env", "packages/cli/node_modules/x", "data.db", "packages/cli/test/x.ts"].flatMap((path) =>
      isIgnored(path, ignored) ? [] : [`.dockerignore: ${path} is in the build context`],
    ),
  ]
}

/** The patterns of a `.dockerignore`. */
export const readIgnored = (text: string): ReadonlyArray<string> =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))

/** The last pattern that matches the path or one of its folders decides. */
export const isIgnored = (path: string, patterns: ReadonlyArray<string>): boolean => {
  const parts = path.split("/")
  const parents = parts.map((_, index) => parts.slice(0, index + 1).join("/"))
  return patterns.reduce((ignored, pattern) => {
    const isException = pattern.startsWith("!")
    const fits = parents.some((one) => matchesGlob(one, isException ? pattern.slice(1) : pattern))
    return fits ? !isException : ignored
  }, false)
}
