/**
 * The environment variables that the image reads, and the processes that need them. A new variable of a package must be added here,
 * so that no deployment lacks it.
 */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"

/** The role of a container of the image: the server, a worker beside it, a node of a cluster, one activity as a job. */
export type Role = "server" | "worker" | "node" | "activity"

export type Variable =
  /** The image sets it. */
  | { readonly set: "image" }
  /** A deployment sets it for these roles. */
  | { readonly set: "deployment"; readonly for: ReadonlyArray<Role> }
  /** The caller of an activity sets it. */
  | { readonly set: "task" }
  /** It has a default, or belongs to an optional feature. */
  | { readonly set: "user" }

const user: Variable = { set: "user" }

const everyRole: ReadonlyArray<Role> = ["server", "worker", "node", "activity"]

export const variables: Readonly<Record<string, Variable>> = {
  DETENT_DATA: { set: "image" },
  XDG_STATE_HOME: { set: "image" },
  DETENT_DATABASE_URL: { set: "deployment", for: everyRole },
  DETENT_TOKEN: { set: "deployment", for: ["server", "node"] },
  DETENT_CLUSTER_TOKEN: { set: "deployment", for: ["node"] },
  // Optional, but a deployment must pass them on: a process without the key cannot call the model, and a process without the endpoint
  // is not monitored, because workers and jobs have no port.
  ANTHROPIC_API_KEY: { set: "deployment", for: everyRole },
  OPENAI_API_KEY: { set: "deployment", for: everyRole },
  OPENAI_BASE_URL: { set: "deployment", for: everyRole },
  OTEL_EXPORTER_OTLP_ENDPOINT: { set: "deployment", for: everyRole },
  ACTIVITY_NAME: { set: "task" },
  ACTIVITY_INPUT: { set: "task" },
  ACTIVITY_KEY: { set: "task" },
  ACTIVITY_ATTEMPTS: { set: "task" },
  // Cloud Run sets it.
  CLOUD_RUN_TASK_ATTEMPT: { set: "task" },
  DETENT_READ_TOKEN: user,
  // Other providers of models. A deployment adds those that it uses.
  AZURE_OPENAI_API_KEY: user,
  AZURE_OPENAI_ENDPOINT: user,
  GEMINI_API_KEY: user,
  OLLAMA_API_KEY: user,
  OLLAMA_HOST: user,
  OPENROUTER_API_KEY: user,
  // Read by the image's own configuration, where Cloud Tasks is used.
  GCP_PROJECT_ID: user,
  GCP_REGION: user,
  TASKS_ENDPOINT: user,
  TASKS_SERVICE_ACCOUNT: user,
  TASKS_JOB: user,
  // Credentials. Machines of Google Cloud get them from the metadata server.
  GOOGLE_APPLICATION_CREDENTIALS: user,
  CLOUDSDK_CONFIG: user,
  GCE_METADATA_HOST: user,
  STORAGE_EMULATOR_HOST: user,
  AWS_ACCESS_KEY_ID: user,
  AWS_SECRET_ACCESS_KEY: user,
  AWS_SESSION_TOKEN: user,
  AWS_PROFILE: user,
  AWS_SHARED_CREDENTIALS_FILE: user,
  AWS_CONFIG_FILE: user,
  AWS_REGION: user,
  AWS_DEFAULT_REGION: user,
  AWS_ENDPOINT_URL_S3: user,
  AWS_ENDPOINT_URL: user,
  AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: user,
  AWS_CONTAINER_CREDENTIALS_FULL_URI: user,
  AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: user,
  AWS_CONTAINER_AUTHORIZATION_TOKEN: user,
  AWS_EC2_METADATA_DISABLED: user,
  AWS_EC2_METADATA_SERVICE_ENDPOINT: user,
  // Variables of the terminal and of Node.
  NO_COLOR: user,
  TERM: user,
  NODE_ENV: { set: "image" },
  PATH: user,
}

/** The patterns by which the sources read a variable. */
const reads: ReadonlyArray<RegExp> = [
  /\bprocess\.env\["([A-Z][A-Z0-9_]+)"\]/g,
  /\b(?:Effect)?Config\.\w+\("([A-Z][A-Z0-9_]+)"\)/g,
  /\b(?:variable|setting)\("([A-Z][A-Z0-9_]+)"\)/g,
  /\bvariable: "([A-Z][A-Z0-9_]+)"/g,
  /"([A-Z]+_(?:API_KEY|BASE_URL))"/g,
  /\b(?:keyName|baseUrlName): "([A-Z][A-Z0-9_]+)"/g,
]

/** `const { NAME: name } = process.env`. */
const destructured = /\bconst \{([^}]*)\} = process\.env\b/g

/** The variables that the packages and the image's own configuration read, with the files that do. */
export const variablesRead = (root: string): ReadonlyMap<string, ReadonlyArray<string>> => {
  const found = new Map<string, Array<string>>()
  for (const file of globSync(["packages/*/{src,bin}/**/*.{ts,mjs}", "infra/container/*.js"], { cwd: root }))
    for (const name of variablesIn(readFileSync(join(root, file), "utf8"))) found.set(name, [...(found.get(name) ?? []), file])
  return found
}

export const variablesIn = (source: string): ReadonlySet<string> =>
  new Set([
    ...reads.flatMap((pattern) => [...source.matchAll(pattern)].map(([, name = ""]) => name)),
    ...[...source.matchAll(destructured)].flatMap(([, names = ""]) => names.match(/\b[A-Z][A-Z0-9_]+\b/g) ?? []),
  ])

/** A container of a deployment, with its variables and command lines. */
export interface Container {
  /** For messages: `compose.yaml: server`. */
  readonly place: string
  readonly role: Role
  readonly names: ReadonlySet<string>
  /** Names that the manifest itself uses in other values, such as `$(POD_NAME)`. */
  readonly referred: ReadonlySet<string>
  /** The command lines of the process, its hooks and its probes. */
  readonly commands: ReadonlyArray<string>
}

export const variableProblems = (
  read: ReadonlyMap<string, ReadonlyArray<string>>,
  image: ReadonlySet<string>,
  containers: ReadonlyArray<Container>,
): ReadonlyArray<string> => {
  const isUnread = (name: string) => !read.has(name) && !ofTheSystem.includes(name)
  return [
    ...[...read].flatMap(([name, [file]]) =>
      name in variables ? [] : [`${file} reads ${name}; add it to infra/check/variables.ts with the part of a deployment that sets it`],
    ),
    ...Object.entries(variables).flatMap(([name, variable]) => {
      if (isUnread(name)) return [`infra/check/variables.ts: no source reads ${name}; remove it`]
      if (variable.set === "image") return image.has(name) ? [] : [`Dockerfile: ENV does not set ${name}`]
      if (variable.set !== "deployment") return []
      return containers.flatMap(({ place, role, names }) =>
        variable.for.includes(role) && !names.has(name) ? [`${place} does not set ${name}`] : [],
      )
    }),
    ...[...image].filter(isUnread).map((name) => `Dockerfile: ENV sets ${name}, which no source reads; correct its name or remove it`),
    ...containers.flatMap(({ place, names, referred }) =>
      [...names]
        .filter((name) => isUnread(name) && !referred.has(name))
        .map((name) => `${place} sets ${name}, which no source reads; correct its name or remove it`),
    ),
    ...containers.flatMap(({ place, commands }) => commands.flatMap((line) => hiddenBy(line).map((problem) => `${place} ${problem}`))),
  ]
}

/** Variables that Node and the shell read. */
const ofTheSystem: ReadonlyArray<string> = ["NODE_ENV", "PATH"]

/** Options that override a variable: with them, the variable of a deployment has no effect. */
const hiding: ReadonlyArray<readonly [string, string]> = [
  ["--data", "DETENT_DATA"],
  ["--database", "DETENT_DATABASE_URL"],
]

const hiddenBy = (line: string): ReadonlyArray<string> =>
  hiding.flatMap(([option, variable]) =>
    line.split(/[\s=]+/).includes(option) ? [`passes ${option}, which overrides ${variable}; leave it out: ${line}`] : [],
  )

/** Finds commands of a guide that run in a container and pass an option that the container's environment already sets. */
export const guideProblems = (file: string, text: string): ReadonlyArray<string> =>
  text
    .split("\n")
    .filter((line) => /\b(?:kubectl|docker|docker compose) exec\b/.test(line))
    .flatMap((line) => hiddenBy(line).map((problem) => `${file} ${problem}`))
