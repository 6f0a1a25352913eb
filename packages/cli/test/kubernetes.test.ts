/** The manifests name commands, options, variables and ports: each must be one that `detent` has. */
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import * as Yaml from "effect/encoding/Yaml"
import { describe, expect, it } from "vitest"
import { globalOptions } from "../src/line/options.mjs"
import { parseLine } from "../src/line/parse.mjs"
import { commands, nouns } from "../src/line/table.mjs"

const folder = join(import.meta.dirname, "../../../infra/kubernetes")

type Node = { readonly [key: string]: Node } & ReadonlyArray<Node>

const manifests = readdirSync(folder)
  .filter((name) => name.endsWith(".yaml"))
  .map((name) => ({ name, manifest: Yaml.parse(readFileSync(join(folder, name), "utf8")) as Node }))

const named = (kind: string, name: string): Node => {
  const found = manifests.find(({ manifest }) => String(manifest["kind"]) === kind && String(manifest["metadata"]?.["name"]) === name)
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`)
  return found.manifest
}

const pod = named("StatefulSet", "detent")["spec"]?.["template"]?.["spec"] as Node
const [container] = [...(pod["containers"] as Node)] as [Node]
const texts = (list: Node | undefined): ReadonlyArray<string> => [...(list ?? [])].map(String)
const args = texts(container["args"])
const environment = [...(container["env"] as Node)]
const valueOf = (option: string) => args.find((arg) => arg.startsWith(`--${option}=`))?.slice(option.length + 3)
const portNamed = (name: string) =>
  Number([...(container["ports"] as Node)].find((port) => String(port["name"]) === name)?.["containerPort"])

/** As the shell of the container splits it. */
const drainLine = () => {
  const [shell, flag, script = ""] = texts(container["lifecycle"]?.["preStop"]?.["exec"]?.["command"])
  expect([shell, flag]).toEqual(["sh", "-c"])
  const [drain = ""] = script.split(" && ")
  return drain.replaceAll('"', "").split(" ")
}

describe("the Kubernetes manifests", () => {
  it("start a command with options that it has", () => {
    expect(texts(container["command"])).toEqual(["detent"])
    const [name, ...options] = args
    const command = commands.find((one) => one.name === name)
    expect(command?.name).toBe("serve")
    const known = new Set([...(command?.options ?? []), ...globalOptions].map((option) => option.name))
    for (const option of options) expect(known, option).toContain(/^--([a-z-]+)=/.exec(option)?.[1])
    expect(parseLine(args)).toMatchObject({ _tag: "Run" })
  })

  it("drain the node by its address before it is stopped, with time for that", () => {
    const [program, ...line] = drainLine()
    expect(program).toBe("detent")
    const parsed = parseLine(line)
    expect(parsed).toMatchObject({ _tag: "Run", command: { name: "cluster drain" } })
    expect(line).toContain("$NODE_ADDRESS")
    // The place of the data is in DETENT_DATA: an argument would beat what a user sets there.
    expect([...args, ...line].filter((word) => word.startsWith("--data"))).toEqual([])
    expect(Number(pod["terminationGracePeriodSeconds"])).toBeGreaterThan(10 + 5 + 5)
  })

  it("set variables that the command reads, and secrets from a Secret only", () => {
    const documented = JSON.stringify([nouns, commands, globalOptions])
    const names = environment.map((variable) => String(variable["name"]))
    const own = names.filter((name) => name.startsWith("DETENT_"))
    expect(own.toSorted()).toEqual(["DETENT_CLUSTER_TOKEN", "DETENT_DATA", "DETENT_DATABASE_URL", "DETENT_TOKEN"])
    for (const name of own) expect(documented).toContain(name)
    for (const variable of environment.filter(({ name }) => String(name).startsWith("DETENT_"))) {
      expect(variable["value"]).toBeUndefined()
      const source = String(variable["name"]) === "DETENT_DATA" ? "configMapKeyRef" : "secretKeyRef"
      expect(String(variable["valueFrom"]?.[source]?.["name"])).toBe("detent")
    }
    // A variable may name only those before it.
    const used = [...args, ...environment.map((variable) => String(variable["value"] ?? ""))].flatMap((text) =>
      [...text.matchAll(/\$\(([A-Z_]+)\)/g)].map(([, name]) => name),
    )
    for (const name of used) expect(names).toContain(name)
    for (const [position, variable] of environment.entries())
      for (const [, name] of String(variable["value"] ?? "").matchAll(/\$\(([A-Z_]+)\)/g))
        expect(names.indexOf(name ?? "")).toBeLessThan(position)
  })

  it("have ports, probes and services that fit the options", () => {
    expect(portNamed("http")).toBe(Number(valueOf("port")))
    expect(portNamed("cluster")).toBe(Number(valueOf("cluster-listen")?.split(":")[1]))
    const address = String(environment.find(({ name }) => String(name) === "NODE_ADDRESS")?.["value"])
    expect(valueOf("cluster")).toBe("$(NODE_ADDRESS)")
    const nodes = named("Service", "detent-nodes")
    expect(String(named("StatefulSet", "detent")["spec"]?.["serviceName"])).toBe("detent-nodes")
    expect(address).toContain(".detent-nodes.")
    expect(Number(address.split(":")[1])).toBe(portNamed("cluster"))
    expect(String(nodes["spec"]?.["clusterIP"])).toBe("None")
    expect(nodes["spec"]?.["publishNotReadyAddresses"]).toBe(true)
    for (const [service, port] of [
      [nodes, "cluster"],
      [named("Service", "detent"), "http"],
    ] as const) {
      const [only] = [...(service["spec"]?.["ports"] ?? [])]
      expect([Number(only?.["port"]), String(only?.["targetPort"])]).toEqual([portNamed(port), port])
    }
    const probe = (name: string) => container[name]?.["httpGet"]
    expect(probe("readinessProbe")).toEqual({ path: "/health/ready", port: "http" })
    expect(probe("livenessProbe")).toEqual({ path: "/health/live", port: "http" })
  })

  it("choose the same pods everywhere", () => {
    const labels = named("StatefulSet", "detent")["spec"]?.["template"]?.["metadata"]?.["labels"]
    expect(named("PodDisruptionBudget", "detent")["spec"]?.["selector"]?.["matchLabels"]).toEqual(labels)
    expect(named("NetworkPolicy", "detent")["spec"]?.["podSelector"]?.["matchLabels"]).toEqual(labels)
    for (const name of ["detent", "detent-nodes"]) expect(named("Service", name)["spec"]?.["selector"]).toEqual(labels)
    const listed = manifests.map(({ name }) => name).filter((name) => name !== "kustomization.yaml")
    expect(texts(manifests.find(({ name }) => name === "kustomization.yaml")?.manifest["resources"]).toSorted()).toEqual(listed.toSorted())
  })
})
