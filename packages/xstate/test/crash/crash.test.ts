import { join } from "node:path"
import { it } from "vitest"
import { killedEndsAsUndisturbed } from "./killing.ts"

it("40 scenarios that are killed with SIGKILL at every step end as undisturbed ones do", () =>
  killedEndsAsUndisturbed(
    (folder) => ({ undisturbed: `sqlite:${join(folder, "undisturbed.db")}`, killed: `sqlite:${join(folder, "killed.db")}` }),
    ["first"],
  ))
