import { BatchApi, CommandApi, InstanceApi, UploadApi } from "@detent/api"
import { BatchMachine } from "@detent/knowledge"
import { assert, describe, it } from "@effect/vitest"
import { commands } from "../../src/line/table.mjs"

const choicesOf = (command: string, name: string): ReadonlyArray<string> => {
  const option = commands.find((one) => one.name === command)?.options.find((one) => one.name === name)
  return option !== undefined && "choices" in option ? option.choices : []
}

describe("what can be chosen on the command line", () => {
  it("as the state of a batch is every state the API and the machine have", () => {
    const states = choicesOf("batch list", "state")
    assert.deepStrictEqual<unknown>(states, BatchApi.BatchStateTag.literals)
    assert.deepStrictEqual(
      states,
      BatchMachine.blueprint.states.map(({ tag }) => tag),
    )
  })

  it.each([
    ["batch show", "documents", [...BatchApi.DocumentState.literals, "all"]],
    ["batch list", "status", InstanceApi.InstanceStatus.literals],
    ["upload show", "items", UploadApi.ItemState.literals],
    ["instance list", "status", InstanceApi.ListedStatus.literals],
    ["command list", "status", CommandApi.CommandStatus.literals],
  ] as const)("in %s --%s is what the API knows", (command, option, literals) => {
    assert.deepStrictEqual<unknown>(choicesOf(command, option), literals)
  })
})
