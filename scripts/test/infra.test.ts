/** Tests that `infra/check` finds problems. `npm run check` runs it on the repository, where it must find none. */
import { describe, expect, it } from "vitest"
import { dashboardProblems, metricsDefined, metricsIn } from "../../infra/check/Dashboards.ts"
import { dockerfileProblems, isIgnored, readDockerfile, readIgnored } from "../../infra/check/Dockerfile.ts"
import { composeOf, kubernetesOf, Node } from "../../infra/check/Manifests.ts"
import { designProblems, formatProblems, googleContainers, type Module, moduleProblems } from "../../infra/check/Terraform.ts"
import { type Container, guideProblems, variableProblems, variables, variablesIn } from "../../infra/check/variables.ts"

const ignored = [".git", ".env*", "**/node_modules", "**/*.db", "packages/*/test"]

const good = `FROM node:24-slim AS build
WORKDIR /source
COPY . .
RUN --mount=type=cache,target=/root/.npm npm ci && \\
    node scripts/pack.mjs

FROM node:24-slim
COPY --from=build /source/built /app
ENV A=1 \\
    B=/data
USER node
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s CMD ["node", "-e", "1"]
ENTRYPOINT ["detent"]
`

describe("the check of the Dockerfile", () => {
  it("reads stages, flags, continued lines and lists of words", () => {
    const [build, last] = readDockerfile(good)
    expect(build).toMatchObject({ image: "node:24-slim", name: "build" })
    expect(build?.instructions.at(-1)).toEqual({ name: "RUN", script: "npm ci && node scripts/pack.mjs" })
    expect(last?.instructions[0]).toEqual({ name: "COPY", from: "build", sources: ["/source/built"], to: "/app" })
    expect(last?.instructions[1]).toEqual({ name: "ENV", values: { A: "1", B: "/data" } })
    expect(dockerfileProblems(readDockerfile(good), ignored)).toEqual([])
  })

  it("refuses root, another base, other stages, absolute paths, sources in the image and a shell before the process", () => {
    const problemsOf = (text: string) => dockerfileProblems(readDockerfile(text), ignored).join("\n")
    expect(problemsOf(good.replace("USER node\n", ""))).toContain("runs as root")
    expect(problemsOf(good.replace("FROM node:24-slim\n", "FROM node:22\n"))).toContain("node:22 is not a Node 24 slim")
    expect(problemsOf(good.replace("--from=build", "--from=other"))).toContain("COPY from other, which is not a stage")
    expect(problemsOf(good.replace("npm ci", "mkdir /data"))).toContain("use paths relative to its WORKDIR")
    expect(problemsOf(good.replace("USER node", "COPY . .\nUSER node"))).toContain("more than the earlier stages have built")
    expect(problemsOf(good.replace("STOPSIGNAL SIGTERM\n", ""))).toContain("STOPSIGNAL")
    expect(() => readDockerfile(good.replace('["detent"]', "detent"))).toThrow("as a list of words")
  })

  it("knows what .dockerignore leaves out", () => {
    const patterns = readIgnored("# comment\n**/node_modules\nexamples/*\n!examples/package.json\n")
    expect(isIgnored("packages/cli/node_modules/a/b.js", patterns)).toBe(true)
    expect(isIgnored("examples/order/Order.ts", patterns)).toBe(true)
    expect(isIgnored("examples/package.json", patterns)).toBe(false)
    expect(dockerfileProblems(readDockerfile(good), []).join("\n")).toContain(".dockerignore: .env is in the build context")
  })
})

describe("the check of manifests", () => {
  it("refuses a compose service that is open, has a writable root file system, or contains a secret", () => {
    const service = { image: "detent", environment: { DETENT_TOKEN: "secret" }, ports: ["4400:4400"], volumes: ["data:/data"] }
    const { problems, containers } = composeOf(new Node({ services: { server: service } }))
    const text = problems.join("\n")
    for (const problem of [
      "read_only",
      "drop ALL",
      "no /tmp",
      "open to other machines",
      "contains the value of DETENT_TOKEN",
      "has fewer than two instances",
    ])
      expect(text).toContain(problem)
    expect(text).toContain("the volume data, which is not declared")
    expect(containers).toEqual([
      { place: "compose.yaml: server", role: "server", names: new Set(["DETENT_TOKEN"]), referred: new Set(), commands: ["", "", ""] },
    ])
  })

  it("refuses a workload without a disruption budget, probes and a security context", () => {
    const set = { kind: "Deployment", metadata: { name: "x" }, spec: { template: { spec: { containers: [{ image: "detent:1" }] } } } }
    const text = kubernetesOf([new Node(set)]).problems.join("\n")
    for (const problem of ["no readiness probe", "no liveness probe", "may run as root", "root file system", "nothing is mounted at /tmp"])
      expect(text).toContain(problem)
    expect(kubernetesOf([new Node({ kind: "Service" })]).problems).toEqual(["kubernetes: there is no workload"])
  })

  it("reads the command lines of a workload and the names that its values refer to, and refuses a required key of a model", () => {
    const secret = (name: string, optional: boolean) => ({ name, valueFrom: { secretKeyRef: { name: "detent", key: "x", optional } } })
    const container = {
      image: "detent:1",
      command: ["detent"],
      args: ["serve", "--cluster=$(NODE)"],
      env: [{ name: "NODE", value: "a" }, secret("OPENAI_API_KEY", true), secret("ANTHROPIC_API_KEY", false)],
      lifecycle: { preStop: { exec: { command: ["sh", "-c", "detent cluster drain"] } } },
    }
    const set = { kind: "StatefulSet", metadata: { name: "x" }, spec: { template: { spec: { containers: [container] } } } }
    const { containers, problems } = kubernetesOf([new Node(set)])
    expect(containers).toMatchObject([
      { referred: new Set(["NODE"]), commands: ["detent serve --cluster=$(NODE)", "sh -c detent cluster drain"] },
    ])
    expect(problems.filter((one) => one.includes("optional"))).toEqual([
      "kubernetes: StatefulSet x: no pod starts without ANTHROPIC_API_KEY: make it optional",
    ])
  })
})

describe("the check of variables", () => {
  it("finds how sources read them", () => {
    const source = `process.env["ONE_A"]; Config.String("TWO_B"); variable("THREE"); setting("FOUR"); ok ? "FIVE_API_KEY" : "x"`
    expect([...variablesIn(source)].toSorted()).toEqual(["FIVE_API_KEY", "FOUR", "ONE_A", "THREE", "TWO_B"])
    expect([...variablesIn("const {\n  SIX_A: six,\n  SEVEN,\n} = process.env")]).toEqual(["SIX_A", "SEVEN"])
  })

  const read = new Map(Object.keys(variables).map((name) => [name, ["x.ts"]]))
  const image = new Set(["DETENT_DATA", "XDG_STATE_HOME", "NODE_ENV", "PATH"])
  const names = new Set(Object.keys(variables).filter((name) => variables[name]?.set === "deployment"))
  const server: Container = { place: "here", role: "server", names, referred: new Set(), commands: ["serve --port=4400"] }
  const without = (name: string) => new Set([...names].filter((one) => one !== name))

  it("refuses a variable that is not listed, one that a container lacks, and one that nothing reads", () => {
    expect(variableProblems(read, image, [server])).toEqual([])
    expect(variableProblems(new Map([...read, ["NEW_ONE", ["a.ts"]]]), image, [])).toEqual([expect.stringContaining("a.ts reads NEW_ONE")])
    expect(variableProblems(read, new Set(["NODE_ENV", "DETENT_DATA"]), [])).toEqual(["Dockerfile: ENV does not set XDG_STATE_HOME"])
    const lacking = { ...server, names: without("DETENT_TOKEN") }
    expect(variableProblems(read, image, [lacking])).toEqual(["here does not set DETENT_TOKEN"])
    const misspelt = { ...server, names: new Set([...names, "DETENT_TOKN", "STORAGE_BUCKET"]) }
    expect(variableProblems(read, image, [misspelt])).toEqual([
      expect.stringContaining("here sets DETENT_TOKN, which no source reads"),
      expect.stringContaining("here sets STORAGE_BUCKET, which no source reads"),
    ])
    expect(variableProblems(read, image, [{ ...misspelt, referred: new Set(["DETENT_TOKN", "STORAGE_BUCKET"]) }])).toEqual([])
    expect(variableProblems(read, new Set([...image, "DETENT_DIR"]), [])).toEqual([expect.stringContaining("ENV sets DETENT_DIR")])
  })

  it("refuses a server, a worker, a node or an activity without the variables for keys of models and for the collector", () => {
    for (const role of ["server", "worker", "node", "activity"] as const)
      for (const name of ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "OPENAI_BASE_URL", "OTEL_EXPORTER_OTLP_ENDPOINT"])
        expect(variableProblems(read, image, [{ ...server, role, names: without(name) }])).toEqual([`here does not set ${name}`])
  })

  it("refuses a container and a guide that pass --data or --database, which override the environment", () => {
    const problemsOf = (...commands: ReadonlyArray<string>) => variableProblems(read, image, [{ ...server, commands }])
    expect(problemsOf("serve --data=/data")).toEqual(["here passes --data, which overrides DETENT_DATA; leave it out: serve --data=/data"])
    expect(problemsOf("serve", 'sh -c detent cluster drain "$NODE" --data /data && sleep 5')).toHaveLength(1)
    expect(problemsOf("worker --database postgres://db/x")).toEqual([expect.stringContaining("overrides DETENT_DATABASE_URL")])
    const guide = "kubectl exec detent-0 -- detent cluster status --data /data\ndetent serve --data new\n"
    expect(guideProblems("a.md", guide)).toEqual([expect.stringContaining("a.md passes --data, which overrides DETENT_DATA")])
  })
})

describe("the check of Terraform", () => {
  const child: Module = {
    path: "modules/a",
    text: 'resource "google_x" "main" { name = var.name }',
    blocks: {
      terraform: [{ required_providers: [{ google: {} }] }],
      variable: { name: [{ description: "d", type: "string" }] },
      resource: { google_x: { main: [{ name: "x" }] } },
      output: { id: [{ value: "x" }] },
    },
  }
  const root = (text: string, inputs: object): Module => ({
    path: "",
    text,
    blocks: { module: { a: [{ source: "./modules/a", ...inputs }] } },
  })

  it("finds variables, inputs, outputs and resources that do not fit together", () => {
    expect(moduleProblems([child, root("module.a.id", { name: "n" })])).toEqual([])
    expect(moduleProblems([child, root("module.a.id", {})])).toEqual(["infra/google: module a lacks name"])
    expect(moduleProblems([child, root("module.a.id", { name: "n", size: 1 })])).toEqual(["infra/google: module a has no variable size"])
    expect(moduleProblems([child, root("module.a.idd", { name: "n" })])).toEqual([
      "infra/google: module a has no output idd",
      "infra/google: output id of module a is not used",
    ])
    expect(moduleProblems([{ ...child, text: "google_y.main.id var.name" }])).toEqual([
      "infra/google/modules/a: google_y.main is not a resource of the module",
    ])
    expect(moduleProblems([{ ...child, text: "var.other" }])).toEqual([
      "infra/google/modules/a: variable name is not used",
      "infra/google/modules/a: var.other is not declared",
    ])
  })

  it("finds the variables and arguments of containers, also those behind merge and a condition", () => {
    const locals = [
      {
        environment: `\${merge(local.telemetry, local.settings)}`,
        telemetry: `\${var.endpoint == "" ? {} : { OTEL_ENDPOINT = var.endpoint }}`,
        settings: { STORAGE_BUCKET: "x" },
        secret_environment: { KEY: "k" },
      },
    ]
    const service: Module = {
      path: "modules/api",
      text: 'args = ["serve", "--data=/data"]\nfor_each = merge(x, { TOKEN = 1 })',
      blocks: {},
    }
    expect(googleContainers([{ path: "", text: "", blocks: { locals } }, service])).toMatchObject([
      { role: "server", names: new Set(["OTEL_ENDPOINT", "STORAGE_BUCKET", "KEY", "TOKEN"]), commands: ["serve --data=/data"] },
      { role: "activity", names: new Set(["OTEL_ENDPOINT", "STORAGE_BUCKET", "KEY"]), commands: [] },
    ])
  })

  it("refuses a role that the design does not name, and one on the whole project", () => {
    const text = 'resource "google_project_iam_member" "x" { role = "roles/owner" }'
    const problems = designProblems([{ ...child, text }]).join("\n")
    expect(problems).toContain("infra/google/modules/a roles/owner is not a role of the design")
    expect(problems).toContain("a role on the whole project")
    expect(problems).toContain("infra/google/modules/storage roles/storage.objectAdmin is not granted")
  })

  it("finds what terraform fmt would change", () => {
    expect(formatProblems("a.tf", 'a "b" {\n  one   = 1\n  three = 3\n\n  d {\n    e = 1\n  }\n}\n')).toEqual([])
    expect(formatProblems("a.tf", "a {\n  one = 1\n  three = 3\n}\n")).toEqual([expect.stringContaining("a.tf:2: align the =")])
    expect(formatProblems("a.tf", "a {\n one = 1\n}\n")).toEqual(["a.tf:2: is not indented by 2"])
    expect(formatProblems("a.tf", "a = 1 \n")).toEqual(["a.tf:1: ends with a blank"])
  })
})

describe("the check of dashboards", () => {
  it("finds the metrics that a source defines", () => {
    const source = `
      const counter = (name: string, description: string) => Metric.counter(\`detent_\${name}_total\`, { description })
      const ships = counter("ships", "ships seen")
      export const live = Metric.gauge("detent_live", {})
      export const wide = Metric.histogram(
        "detent_wide_milliseconds", {})`
    expect(metricsIn([source]).toSorted()).toEqual(["detent_live", "detent_ships_total", "detent_wide_milliseconds"])
    const root = new URL("../..", import.meta.url).pathname
    for (const name of ["detent_batches_total", "detent_flush_milliseconds", "detent_commands_failed_total", "detent_loops_down"])
      expect(metricsDefined(root)).toContain(name)
  })

  it("refuses a metric that no package defines, in panels and in variables", () => {
    const defined = new Set(["detent_ships_total", "detent_wide_milliseconds"])
    const problemsOf = (...expressions: ReadonlyArray<string>) =>
      dashboardProblems("d.json", { panels: expressions.map((expr) => ({ targets: [{ expr }] })) }, defined)
    expect(problemsOf("sum(rate(detent_ships_total[5m]))", "histogram_quantile(0.9, detent_wide_milliseconds_bucket)")).toEqual([])
    expect(problemsOf("detent_ship_total")).toEqual(["d.json: no package defines the metric detent_ship_total"])
    expect(problemsOf("detent_ships_total_bucket")).toHaveLength(1)
    const variable = { templating: { list: [{ query: { query: "label_values(detent_nothing, instance)" } }] } }
    expect(dashboardProblems("d.json", variable, defined)).toHaveLength(1)
  })
})
