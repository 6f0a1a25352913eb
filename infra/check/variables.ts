/**
 * The environment variables that the image reads, and which of its processes need them. A variable that a package begins to read has
 * to be entered here, so that no deployment lacks it.
 */
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"

/** What a container of the image does: the server, a worker beside it, a node of a cluster, one activity as a job. */
export type Role = "server" | "worker" | "node" | "activity"

export type Variable =
  /** The image sets it. */
  | { readonly set: "image" }
  /** A deployment sets it for these. */
  | { readonly set: "deployment"; readonly for: ReadonlyArray<Role> }
  /** The caller of an activity sets it. */
  | { readonly set: "task" }
  /** It has a default, or belongs to something that a deployment need not use. */
  | { readonly set: "user" }

const user: Variable = { set: "user" }

export const variables: Readonly<Record<string, Variable>> = {
  DETENT_DATA: { set: "image" },
  XDG_STATE_HOME: { set: "image" },
  DETENT_DATABASE_URL: { set: "deployment", for: ["server", "worker", "node", "activity"] },
  DETENT_TOKEN: { set: "deployment", for: ["server", "node"] },
  DETENT_CLUSTER_TOKEN: { set: "deployment", for: ["node"] },
  ANTHROPIC_API_KEY: { set: "deployment", for: ["server", "worker", "activity"] },
  ACTIVITY_NAME: { set: "task" },
  ACTIVITY_INPUT: { set: "task" },
  ACTIVITY_KEY: { set: "task" },
  ACTIVITY_ATTEMPTS: { set: "task" },
  // Cloud Run sets it.
  CLOUD_RUN_TASK_ATTEMPT: { set: "task" },
  DETENT_READ_TOKEN: user,
  OPENAI_API_KEY: user,
  OPENAI_BASE_URL: user,
  OTEL_EXPORTER_OTLP_ENDPOINT: user,
  // Credentials: Google gives them to its own machines.
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
  // Of the terminal and of Node.
  NO_COLOR: user,
  TERM: user,
  NODE_ENV: { set: "image" },
}

/** For configurations of projects, which read them themselves; the names are those of the specification. */
export const forProjects: ReadonlyArray<string> = [
  "GCP_PROJECT_ID",
  "GCP_REGION",
  "STORAGE_BUCKET",
  "TASKS_ENDPOINT",
  "TASKS_SERVICE_ACCOUNT",
  "TASKS_JOB",
]

/** How the sources read a variable. */
const reads: ReadonlyArray<RegExp> = [
  /\bprocess\.env\["([A-Z][A-Z0-9_]+)"\]/g,
  /\b(?:Effect)?Config\.\w+\("([A-Z][A-Z0-9_]+)"\)/g,
  /\b(?:variable|setting)\("([A-Z][A-Z0-9_]+)"\)/g,
  /\bvariable: "([A-Z][A-Z0-9_]+)"/g,
  /"([A-Z]+_API_KEY)"/g,
]

/** The variables that the packages read, with the files that do. */
export const variablesRead = (root: string): ReadonlyMap<string, ReadonlyArray<string>> => {
  const found = new Map<string, Array<string>>()
  for (const file of globSync("packages/*/{src,bin}/**/*.{ts,mjs}", { cwd: root }))
    for (const name of variablesIn(readFileSync(join(root, file), "utf8"))) found.set(name, [...(found.get(name) ?? []), file])
  return found
}

export const variablesIn = (source: string): ReadonlySet<string> =>
  new Set(reads.flatMap((pattern) => [...source.matchAll(pattern)].map(([, name = ""]) => name)))

/** A container of a deployment, and the variables that it sets. */
export interface Container {
  /** For messages: `compose.yaml: server`. */
  readonly place: string
  readonly role: Role
  readonly names: ReadonlySet<string>
}

export const variableProblems = (
  read: ReadonlyMap<string, ReadonlyArray<string>>,
  image: ReadonlySet<string>,
  containers: ReadonlyArray<Container>,
): ReadonlyArray<string> => [
  ...[...read].flatMap(([name, [file]]) =>
    name in variables ? [] : [`${file} reads ${name}; say in infra/check/variables.ts who sets it in a deployment`],
  ),
  ...Object.entries(variables).flatMap(([name, variable]) => {
    if (!read.has(name) && name !== "NODE_ENV") return [`infra/check/variables.ts: no package reads ${name}; remove it`]
    if (variable.set === "image") return image.has(name) ? [] : [`Dockerfile: ENV does not set ${name}`]
    if (variable.set !== "deployment") return []
    return containers.flatMap(({ place, role, names }) =>
      variable.for.includes(role) && !names.has(name) ? [`${place} does not set ${name}`] : [],
    )
  }),
  ...containers.flatMap(({ place, names }) =>
    [...names].flatMap((name) =>
      isOwn(name) && !(name in variables) ? [`${place} sets ${name}, which nothing reads; correct its name or remove it`] : [],
    ),
  ),
]

/** A manifest may define further variables to build values from them, as Kubernetes does with the name of a pod. */
const isOwn = (name: string): boolean => !forProjects.includes(name) && !/^(?:POD|NODE)_/.test(name)
