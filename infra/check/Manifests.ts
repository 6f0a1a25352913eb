/** Reads compose.yaml and the manifests of infra/kubernetes: the containers of the image, and violations of its rules. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as Yaml from "effect/encoding/Yaml"
import type { Container, Role } from "./variables.ts"

/** A value of a YAML document. Reading below a missing value gives undefined. */
export class Node {
  readonly value: unknown
  constructor(value: unknown) {
    this.value = value
  }
  at(...path: ReadonlyArray<string | number>): Node {
    return path.reduce<Node>((node, key) => new Node(isRecord(node.value) ? node.value[key] : undefined), this)
  }
  get text(): string {
    return this.value === undefined || this.value === null ? "" : String(this.value)
  }
  get list(): ReadonlyArray<Node> {
    return Array.isArray(this.value) ? this.value.map((one) => new Node(one)) : []
  }
  get entries(): ReadonlyArray<readonly [string, Node]> {
    return isRecord(this.value) ? Object.entries(this.value).map(([key, one]) => [key, new Node(one)]) : []
  }
}

const isRecord = (value: unknown): value is Record<string | number, unknown> => typeof value === "object" && value !== null

const readYaml = (file: string): Node => new Node(Yaml.parse(readFileSync(file, "utf8")))

/** The containers of a deployment, and its problems. */
export interface Deployment {
  readonly containers: ReadonlyArray<Container>
  readonly problems: ReadonlyArray<string>
}

export const composeAt = (root: string): Deployment => composeOf(readYaml(join(root, "compose.yaml")))

export const composeOf = (file: Node): Deployment => {
  const services = file.at("services")
  const own = services.entries.filter(([, service]) => service.at("image").text === "detent")
  const say = (service: string, isRight: boolean, problem: string) => (isRight ? [] : [`compose.yaml: ${service} ${problem}`])
  const workers = own.filter(([, service]) => roleOf(service) === "worker")
  return {
    containers: own.map(([name, service]) => ({
      place: `compose.yaml: ${name}`,
      role: roleOf(service),
      names: new Set(service.at("environment").entries.map(([variable]) => variable)),
      referred: new Set<string>(),
      commands: [service.at("entrypoint"), service.at("command"), service.at("healthcheck", "test")].map(lineOf),
    })),
    problems: [
      ...own.flatMap(([name, service]) => [
        ...say(name, service.at("read_only").value === true, "has a writable root file system: set read_only"),
        ...say(name, service.at("cap_drop", 0).text === "ALL", "keeps capabilities: drop ALL"),
        ...say(name, service.at("security_opt", 0).text === "no-new-privileges:true", "may gain privileges"),
        ...say(
          name,
          service.at("tmpfs").list.some(({ text }) => text === "/tmp"),
          "has no /tmp",
        ),
        ...say(
          name,
          service.at("volumes").list.some(({ text }) => text.endsWith(":/data")),
          "has no volume at /data",
        ),
        ...say(
          name,
          service.at("ports").list.every(({ text }) => text.startsWith("127.0.0.1:")),
          "is open to other machines",
        ),
        ...service
          .at("environment")
          .entries.flatMap(([variable, value]) =>
            say(
              name,
              !/KEY|TOKEN|PASSWORD/.test(variable) || value.text.startsWith("${"),
              `contains the value of ${variable}; refer to it with \${...}`,
            ),
          ),
        ...service
          .at("depends_on")
          .entries.flatMap(([other, condition]) => [
            ...say(name, services.at(other).value !== undefined, `waits for ${other}, which is not a service`),
            ...say(name, condition.at("condition").text === "service_healthy", `does not wait until ${other} is healthy`),
          ]),
      ]),
      ...workers.flatMap(([name, service]) => [
        ...say(
          name,
          service.at("healthcheck", "disable").value === true,
          "has no port for the health check of the image: disable the health check",
        ),
      ]),
      ...say(
        "worker",
        workers.reduce((count, [, one]) => count + Number(one.at("scale").value ?? 1), 0) >= 2,
        "has fewer than two instances",
      ),
      ...say("database", services.at("database", "healthcheck", "test").list.length > 0, "has no healthcheck"),
      ...volumeProblems(file),
    ],
  }
}

/** A command is a list of words, or a line for a shell. */
const lineOf = (command: Node): string => (command.list.length === 0 ? command.text : command.list.map(({ text }) => text).join(" "))

const roleOf = (service: Node): Role => (service.at("command", 0).text === "worker" ? "worker" : "server")

const volumeProblems = (file: Node): ReadonlyArray<string> => {
  const declared = new Set(file.at("volumes").entries.map(([name]) => name))
  return file.at("services").entries.flatMap(([service, one]) =>
    one.at("volumes").list.flatMap(({ text }) => {
      const [volume = ""] = text.split(":")
      return declared.has(volume) ? [] : [`compose.yaml: ${service} uses the volume ${volume}, which is not declared`]
    }),
  )
}

export const kubernetesAt = (root: string): Deployment => {
  const folder = join(root, "infra", "kubernetes")
  return kubernetesOf(
    readdirSync(folder)
      .filter((name) => name.endsWith(".yaml"))
      .map((name) => readYaml(join(folder, name))),
  )
}

/** Variables that are optional in a deployment. */
const optionalVariables: ReadonlySet<string> = new Set([
  "ANTHROPIC_API_KEY",
  "OPENAI_API_KEY",
  "OPENAI_BASE_URL",
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  "DETENT_DATA",
])

export const kubernetesOf = (manifests: ReadonlyArray<Node>): Deployment => {
  const sets = manifests.filter((one) => /^(?:StatefulSet|Deployment)$/.test(one.at("kind").text))
  const budgets = manifests.filter((one) => one.at("kind").text === "PodDisruptionBudget")
  const problems: Array<string> = []
  const containers: Array<Container> = []
  for (const set of sets) {
    const place = `kubernetes: ${set.at("kind").text} ${set.at("metadata", "name").text}`
    const pod = set.at("spec", "template", "spec")
    const say = (isRight: boolean, problem: string) => {
      if (!isRight) problems.push(`${place}: ${problem}`)
    }
    const labels = JSON.stringify(set.at("spec", "selector", "matchLabels").value)
    say(
      budgets.some((one) => JSON.stringify(one.at("spec", "selector", "matchLabels").value) === labels),
      "no PodDisruptionBudget selects its pods",
    )
    say(pod.at("securityContext", "runAsNonRoot").value === true, "its pods may run as root")
    say(pod.at("securityContext", "seccompProfile", "type").text === "RuntimeDefault", "its pods have no seccomp profile")
    say(pod.at("automountServiceAccountToken").value === false, "its pods get a token of the Kubernetes API, which they do not use")
    for (const container of pod.at("containers").list) {
      const security = container.at("securityContext")
      say(container.at("image").text.split(":")[0]?.split("/").at(-1) === "detent", "a container is not of the image `detent`")
      say(security.at("readOnlyRootFilesystem").value === true, "the root file system is writable")
      say(security.at("allowPrivilegeEscalation").value === false, "privileges may be gained")
      say(security.at("capabilities", "drop", 0).text === "ALL", "capabilities are kept")
      say(container.at("readinessProbe", "httpGet", "path").text === "/health/ready", "there is no readiness probe")
      say(container.at("livenessProbe", "httpGet", "path").text === "/health/live", "there is no liveness probe")
      say(container.at("resources", "limits", "memory").text !== "", "there is no memory limit")
      const mounts = new Set(container.at("volumeMounts").list.map((one) => one.at("mountPath").text))
      for (const path of ["/data", "/tmp"]) say(mounts.has(path), `nothing is mounted at ${path}, and the rest is read-only`)
      for (const variable of container.at("env").list)
        if (optionalVariables.has(variable.at("name").text))
          say(
            ["secretKeyRef", "configMapKeyRef"].some((kind) => variable.at("valueFrom", kind, "optional").value === true),
            `no pod starts without ${variable.at("name").text}: make it optional`,
          )
      containers.push({
        place,
        role: "node",
        names: new Set(container.at("env").list.map((one) => one.at("name").text)),
        referred: new Set([...JSON.stringify(container.value).matchAll(/\$\((\w+)\)/g)].map(([, name = ""]) => name)),
        commands: [
          new Node([...container.at("command").list, ...container.at("args").list].map(({ value }) => value)),
          ...[...container.at("lifecycle").entries, ...container.entries.filter(([name]) => name.endsWith("Probe"))].map(([, one]) =>
            one.at("exec", "command"),
          ),
        ].map(lineOf),
      })
    }
  }
  if (sets.length === 0) problems.push("kubernetes: there is no workload")
  return { containers, problems }
}
