/**
 * Reads the Terraform of infra/google and finds errors of a plan without providers: every variable is declared, used and set; every
 * reference resolves; roles, limits and environment variables are those of the design.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import type { Container } from "./variables.ts"

/** Parses one file to JSON: blocks are lists, expressions are `${…}`. */
export type ParseHcl = (name: string, text: string) => Promise<unknown>

/** A block of HCL as JSON. */
type Block = { readonly [key: string]: unknown }

export interface Module {
  /** Below infra/google; empty for the root. */
  readonly path: string
  readonly text: string
  readonly blocks: Block
}

export const readModules = async (folder: string, parse: ParseHcl): Promise<ReadonlyArray<Module>> => {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".tf"))
    .sort()
  const modules = new Map<string, Module>()
  for (const file of files) {
    const text = readFileSync(join(folder, file), "utf8")
    const path = file.includes("/") ? file.slice(0, file.lastIndexOf("/")) : ""
    const before = modules.get(path)
    const blocks = merged(before?.blocks ?? {}, await parse(file, text))
    modules.set(path, { path, text: `${before?.text ?? ""}\n${text}`, blocks })
  }
  return [...modules.values()]
}

const isBlock = (value: unknown): value is Block => typeof value === "object" && value !== null && !Array.isArray(value)

/** The blocks of several files of one module. */
const merged = (one: unknown, other: unknown): Block => {
  const all: Record<string, unknown> = isBlock(one) ? { ...one } : {}
  for (const [key, value] of Object.entries(isBlock(other) ? other : {})) {
    const known = all[key]
    if (Array.isArray(known) && Array.isArray(value)) all[key] = [...known, ...value]
    else all[key] = isBlock(known) && isBlock(value) ? merged(known, value) : value
  }
  return all
}

/** The value at a path of keys. Of a list of blocks, the first is read. */
export const at = (value: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>((found, key) => {
    const block = Array.isArray(found) ? found[0] : found
    return isBlock(block) ? block[key] : undefined
  }, value)

/** The keys of a block, or of the first of a list of blocks. */
const keysOf = (value: unknown): ReadonlyArray<string> => {
  const block: unknown = Array.isArray(value) ? value[0] : value
  return isBlock(block) ? Object.keys(block) : []
}

/** The text without comments and descriptions, which contain no references. */
const codeOf = (text: string): string => text.replace(/^\s*#.*$/gm, "").replace(/^\s*(?:description|error_message)\s*=.*$/gm, "")

const referencesIn = (text: string, pattern: RegExp): ReadonlySet<string> =>
  new Set([...codeOf(text).matchAll(pattern)].map(([, ...parts]) => parts.join(".")))

export const moduleProblems = (modules: ReadonlyArray<Module>): ReadonlyArray<string> =>
  modules.flatMap((module) => {
    const place = `infra/google/${module.path}`.replace(/\/$/, "")
    const say = (isRight: boolean, problem: string) => (isRight ? [] : [`${place}: ${problem}`])
    const declared = new Set(keysOf(module.blocks["variable"]))
    const used = referencesIn(module.text, /\bvar\.(\w+)/g)
    const locals = new Set(keysOf(module.blocks["locals"]))
    const localsUsed = referencesIn(module.text, /\blocal\.(\w+)/g)
    const resources = new Set([...typesAndNames(module.blocks["resource"]), ...typesAndNames(module.blocks["data"])])
    const referred = referencesIn(module.text, /(?<![\w"./])(?:data\.)?((?:google|random)_\w+)\.(\w+)/g)
    return [
      ...[...declared].flatMap((name) => say(used.has(name), `variable ${name} is not used`)),
      ...[...used].flatMap((name) => say(declared.has(name), `var.${name} is not declared`)),
      ...[...locals].flatMap((name) => say(localsUsed.has(name), `local ${name} is not used`)),
      ...[...localsUsed].flatMap((name) => say(locals.has(name), `local.${name} is not declared`)),
      ...[...referred].flatMap((name) => say(resources.has(name), `${name} is not a resource of the module`)),
      ...Object.entries(isBlock(module.blocks["variable"]) ? module.blocks["variable"] : {}).flatMap(([name, variable]) => [
        ...say(at(variable, "description") !== undefined, `variable ${name} has no description`),
        ...say(at(variable, "type") !== undefined, `variable ${name} has no type`),
      ]),
      ...callProblems(modules, module, place),
      ...providerProblems(module, place),
    ]
  })

const typesAndNames = (blocks: unknown): ReadonlyArray<string> =>
  keysOf(blocks).flatMap((type) => keysOf(at(blocks, type)).map((name) => `${type}.${name}`))

/** Checks that every call of a module sets its required variables and no unknown ones, and reads existing outputs only. */
const callProblems = (modules: ReadonlyArray<Module>, caller: Module, place: string): ReadonlyArray<string> =>
  keysOf(caller.blocks["module"]).flatMap((name) => {
    const call = at(caller.blocks["module"], name)
    const source = String(at(call, "source") ?? "")
    const path = relative("", join(caller.path, source))
    const called = modules.find((one) => one.path === path)
    if (called === undefined) return [`${place}: module ${name} is at ${source}, which does not exist`]
    const given = keysOf(call).filter((key) => !["source", "depends_on", "count", "for_each", "providers"].includes(key))
    const inputs = keysOf(called.blocks["variable"])
    const needed = inputs.filter((input) => at(called.blocks["variable"], input, "default") === undefined)
    const outputs = new Set(keysOf(called.blocks["output"]))
    const read = referencesIn(caller.text, new RegExp(`\\bmodule\\.${name}\\.(\\w+)`, "g"))
    return [
      ...needed.filter((input) => !given.includes(input)).map((input) => `${place}: module ${name} lacks ${input}`),
      ...given.filter((input) => !inputs.includes(input)).map((input) => `${place}: module ${name} has no variable ${input}`),
      ...[...read].filter((output) => !outputs.has(output)).map((output) => `${place}: module ${name} has no output ${output}`),
      ...[...outputs].filter((output) => !read.has(output)).map((output) => `${place}: output ${output} of module ${name} is not used`),
    ]
  })

/** Checks that a module names the providers that it uses, with a version. The environments inherit those of the root. */
const providerProblems = ({ path, blocks, text }: Module, place: string): ReadonlyArray<string> => {
  if (path.startsWith("environments/")) return []
  const named = new Set(keysOf(at(blocks["terraform"], "required_providers")))
  const used = new Set([...codeOf(text).matchAll(/^(?:resource|data) "([a-z]+)_/gm)].map(([, provider = ""]) => provider))
  return [...used].filter((provider) => !named.has(provider)).map((provider) => `${place}: required_providers lacks ${provider}`)
}

/** The roles of the design and the roles that they require. Any other role is refused. */
const roles: ReadonlyArray<string> = [
  "modules/storage roles/storage.objectAdmin",
  "modules/service-accounts roles/secretmanager.secretAccessor",
  "modules/service-accounts roles/iam.serviceAccountUser",
  "modules/api roles/secretmanager.secretAccessor",
  "modules/api roles/run.invoker",
  "modules/tasks roles/cloudtasks.enqueuer",
  "modules/activity-runner roles/run.jobsExecutorWithOverrides",
]

/** The settings of the design: module, path to the value, value. */
const settings: ReadonlyArray<readonly [string, ReadonlyArray<string>, unknown]> = [
  ["modules/storage", ["google_storage_bucket", "main", "versioning", "enabled"], true],
  ["modules/storage", ["google_storage_bucket", "main", "public_access_prevention"], "enforced"],
  ["modules/storage", ["google_storage_bucket", "main", "lifecycle_rule", "action", "type"], "Delete"],
  ["modules/database", ["google_sql_database_instance", "main", "database_version"], "POSTGRES_16"],
  ["modules/database", ["google_sql_database_instance", "main", "settings", "backup_configuration", "enabled"], true],
  ["modules/database", ["google_sql_database_instance", "main", "settings", "ip_configuration", "ipv4_enabled"], false],
  ["modules/tasks", ["google_cloud_tasks_queue", "workflow_tasks", "name"], "workflow-tasks"],
  ["modules/tasks", ["google_cloud_tasks_queue", "workflow_tasks", "rate_limits", "max_concurrent_dispatches"], 10],
  ["modules/tasks", ["google_cloud_tasks_queue", "workflow_tasks", "rate_limits", "max_dispatches_per_second"], 5],
  ["modules/tasks", ["google_cloud_tasks_queue", "workflow_tasks", "retry_config", "max_attempts"], 5],
  ["modules/tasks", ["google_cloud_tasks_queue", "workflow_tasks", "retry_config", "min_backoff"], "10s"],
  ["modules/tasks", ["google_cloud_tasks_queue", "workflow_tasks", "retry_config", "max_backoff"], "300s"],
  ["modules/tasks", ["google_cloud_tasks_queue", "workflow_tasks", "retry_config", "max_retry_duration"], "3600s"],
  ["modules/activity-runner", ["google_cloud_run_v2_job", "activity_runner", "name"], "activity-runner"],
  ["modules/activity-runner", [...jobTemplate(), "timeout"], "1800s"],
  ["modules/activity-runner", [...jobTemplate(), "max_retries"], 3],
  ["modules/activity-runner", [...jobTemplate(), "containers", "resources", "limits", "cpu"], "2"],
  ["modules/activity-runner", [...jobTemplate(), "containers", "resources", "limits", "memory"], "4Gi"],
  ["modules/api", ["google_cloud_run_v2_service", "api", "template", "scaling", "min_instance_count"], 1],
  ["modules/api", ["google_cloud_run_v2_service", "api", "template", "scaling", "max_instance_count"], 1],
  ["modules/api", ["google_cloud_run_v2_service", "api", "template", "containers", "resources", "cpu_idle"], false],
  ["modules/service-accounts", ["google_service_account", "activity_runner", "account_id"], "activity-runner"],
  ["modules/service-accounts", ["google_service_account", "tasks_invoker", "account_id"], "tasks-invoker"],
]

function jobTemplate(): ReadonlyArray<string> {
  return ["google_cloud_run_v2_job", "activity_runner", "template", "template"]
}

export const designProblems = (modules: ReadonlyArray<Module>): ReadonlyArray<string> => {
  const granted = modules.flatMap(({ path, text }) =>
    [...codeOf(text).matchAll(/\brole\s*=\s*"([^"]+)"/g)].map(([, role = ""]) => `${path} ${role}`),
  )
  return [
    ...granted.filter((one) => !roles.includes(one)).map((one) => `infra/google/${one} is not a role of the design`),
    ...roles.filter((one) => !granted.includes(one)).map((one) => `infra/google/${one} is not granted`),
    ...modules
      .filter(({ text }) => /"google_project_iam_/.test(codeOf(text)))
      .map(({ path }) => `infra/google/${path}: a role on the whole project; grant it on the one resource`),
    ...settings.flatMap(([path, keys, wanted]) => {
      const found = at(modules.find((one) => one.path === path)?.blocks["resource"], ...keys)
      return found === wanted ? [] : [`infra/google/${path}: ${keys.join(".")} is ${JSON.stringify(found)}, not ${JSON.stringify(wanted)}`]
    }),
    ...["dev", "prod"]
      .filter((name) => modules.every(({ path }) => path !== `environments/${name}`))
      .map((name) => `there is no environment ${name}`),
  ]
}

/** The containers of the service and the job. Both get the maps of the root module; the service adds its own. */
export const googleContainers = (modules: ReadonlyArray<Module>): ReadonlyArray<Container> => {
  const root = modules.find(({ path }) => path === "")
  const common = ["environment", "secret_environment"].flatMap((name) => variablesOf(root?.blocks["locals"], name))
  const containerAt = (path: string, role: Container["role"]): Container => {
    const text = codeOf(modules.find((one) => one.path === path)?.text ?? "")
    return {
      place: `infra/google/${path}`,
      role,
      names: new Set([...common, ...variablesSet(text)]),
      referred: new Set(),
      commands: [...text.matchAll(/\b(?:args|command)\s*=\s*\[([^\]]*)\]/g)].map(([, words = ""]) => words.replaceAll(/"|,(?=\s)/g, "")),
    }
  }
  return [containerAt("modules/api", "server"), containerAt("modules/activity-runner", "activity")]
}

/** The keys of a local value: of a map, or of the maps and local values in an expression. */
const variablesOf = (locals: unknown, name: string): ReadonlyArray<string> => {
  const value = at(locals, name)
  if (typeof value !== "string") return keysOf(value)
  const others = [...referencesIn(value, /\blocal\.(\w+)/g)].filter((other) => other !== name)
  return [...variablesSet(value), ...others.flatMap((other) => variablesOf(locals, other))]
}

/** The keys of the maps in an expression. */
const variablesSet = (expression: string): ReadonlyArray<string> => [...referencesIn(expression, /[{,]\s*([A-Z][A-Z0-9_]+)\s*=/g)]

/** The changes that `terraform fmt` would make: indentation by two, no trailing blanks, and `=` aligned in consecutive lines. */
export const formatProblems = (name: string, text: string): ReadonlyArray<string> => {
  const lines = text.split("\n")
  const problems: Array<string> = []
  let depth = 0
  let group: Array<{ readonly line: number; readonly key: string; readonly gap: string }> = []
  const closeGroup = () => {
    const width = Math.max(...group.map(({ key }) => key.length))
    for (const { line, key, gap } of group)
      if (key.length + gap.length !== width + 1) problems.push(`${name}:${line}: align the = with its neighbours (terraform fmt)`)
    group = []
  }
  for (const [index, line] of lines.entries()) {
    if (/\s$/.test(line)) problems.push(`${name}:${index + 1}: ends with a blank`)
    const code = line.replace(/"(?:[^"\\]|\\.)*"/g, '""').replace(/#.*$/, "")
    const closes = /^\s*[}\])]/.test(code) ? 1 : 0
    const indent = (depth - closes) * 2
    if (line.trim() !== "" && line.length - line.trimStart().length !== indent)
      problems.push(`${name}:${index + 1}: is not indented by ${indent}`)
    depth += (code.match(/[{[(]/g)?.length ?? 0) - (code.match(/[}\])]/g)?.length ?? 0)
    const [, key, gap] = /^\s*([\w"-]+)(\s+)=\s/.exec(line) ?? []
    const isOneLine = (code.match(/[{[(]/g)?.length ?? 0) === (code.match(/[}\])]/g)?.length ?? 0)
    if (key !== undefined && gap !== undefined && isOneLine) group.push({ line: index + 1, key, gap })
    else closeGroup()
  }
  closeGroup()
  if (!text.endsWith("\n") || text.endsWith("\n\n")) problems.push(`${name}: must end with exactly one line break`)
  return problems
}
