/** The cold start of `detent --help`, beside a Node process that does nothing. */
import { spawnSync } from "node:child_process"
import { join } from "node:path"
import type { Part } from "../../measure/Group.ts"
import { median } from "../../measure/Statistics.ts"

const detent = join(import.meta.dirname, "../../../packages/cli/bin/detent.mjs")

export const help: Part = async ({ quick }) => {
  const turns = quick ? 9 : 31
  const bare: Array<number> = []
  const ours: Array<number> = []
  for (let turn = 0; turn < turns; turn++) {
    bare.push(millisOf(["-e", "0"]))
    ours.push(millisOf([detent, "--help"]))
  }
  const ratio = median(ours) / median(bare)
  return {
    tables: [
      {
        title: "Cold start",
        columns: ["", "milliseconds", "of node -e 0"],
        rows: [
          ["node -e 0", median(bare).toFixed(0), "1.00"],
          ["detent --help", median(ours).toFixed(0), ratio.toFixed(2)],
        ],
      },
    ],
    figures: { "help.millis": median(ours), "help.vsNode": ratio },
  }
}

const millisOf = (args: ReadonlyArray<string>): number => {
  const begin = performance.now()
  const { status, stderr } = spawnSync(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"], encoding: "utf8" })
  if (status !== 0) throw new Error(`node ${args.join(" ")} ended with ${status}:\n${stderr}`)
  return performance.now() - begin
}
