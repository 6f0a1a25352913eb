/**
 * Checks a deployment as far as possible without a cloud and without a container engine: Dockerfile, compose.yaml, infra/kubernetes,
 * infra/google, infra/grafana. `npm run check` runs it. `npm run soak -- container` also builds the image's stages.
 *
 *     npx node infra/check/run.ts
 */
import { spawnSync } from "node:child_process"
import { globSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { parse } from "@cdktf/hcl2json"
import { dashboardProblems, metricsDefined } from "./Dashboards.ts"
import { dockerfileProblems, environmentOf, readDockerfile, readIgnored } from "./Dockerfile.ts"
import { composeAt, kubernetesAt } from "./Manifests.ts"
import { designProblems, formatProblems, googleContainers, moduleProblems, readModules } from "./Terraform.ts"
import { guideProblems, variableProblems, variablesRead } from "./variables.ts"

const root = join(import.meta.dirname, "../..")
const read = (file: string) => readFileSync(join(root, file), "utf8")

const stages = readDockerfile(read("Dockerfile"))
const [image] = stages.slice(-1)
const compose = composeAt(root)
const kubernetes = kubernetesAt(root)
const modules = await readModules(join(root, "infra/google"), parse)

const problems = [
  ...dockerfileProblems(stages, readIgnored(read(".dockerignore"))),
  ...compose.problems,
  ...kubernetes.problems,
  ...moduleProblems(modules),
  ...designProblems(modules),
  ...globSync("infra/google/**/*.tf", { cwd: root }).flatMap((file) => formatProblems(file, read(file))),
  ...terraformFormat(),
  ...globSync("infra/grafana/*.json", { cwd: root }).flatMap((file) =>
    dashboardProblems(file, JSON.parse(read(file)), metricsDefined(root)),
  ),
  ...globSync(["docs/**/*.md", "infra/**/*.md", "packages/*/README.md"], {
    cwd: root,
    exclude: (path) => path.includes("node_modules"),
  }).flatMap((file) => guideProblems(file, read(file))),
  ...variableProblems(variablesRead(root), new Set(Object.keys(image === undefined ? {} : environmentOf(image))), [
    ...compose.containers,
    ...kubernetes.containers,
    ...googleContainers(modules),
  ]),
]
for (const problem of problems) console.error(problem)
if (problems.length > 0) process.exitCode = 1

/** Where Terraform is installed, its own formatter checks the files too. */
function terraformFormat(): ReadonlyArray<string> {
  const { status, stdout } = spawnSync("terraform", ["fmt", "-check", "-recursive", join(root, "infra/google")], { encoding: "utf8" })
  return status !== 3 ? [] : [`terraform fmt would change ${stdout.trim().split("\n").join(", ")}`]
}
