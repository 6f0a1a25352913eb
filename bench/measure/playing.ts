/** The process of one player: loads its abilities, and executes calls until `leave`. */
import type { Abilities, PlayerAnswer, PlayerRequest } from "./Player.ts"

const [, , module = "", name = "", options = "{}"] = process.argv

// The parent process has ended.
process.on("disconnect", () => process.exit())

const load = async (): Promise<Abilities & { readonly close?: () => Promise<void> }> => {
  const { [name]: make }: Record<string, (options: unknown) => ReturnType<typeof load>> = await import(module)
  if (make === undefined) throw new Error(`${module} exports no ${name}`)
  return make(JSON.parse(options))
}

// Requests that arrive before the abilities are loaded wait for them: a library that listens too would take them from the channel.
const loading = load()
const ready = async () => undefined

const answer = (number: number, told: Omit<PlayerAnswer, "number">) => process.send?.({ number, ...told })

const obey = async ({ number, ability, args }: PlayerRequest) => {
  const abilities = await loading
  if (ability === "leave") {
    await abilities.close?.()
    process.exit()
  }
  const act = (ability === "ready" ? ready : abilities[ability]) as ((...args: ReadonlyArray<unknown>) => Promise<unknown>) | undefined
  try {
    if (act === undefined) throw new Error(`${module} has no ability ${ability}`)
    answer(number, { result: await act(...args) })
  } catch (error) {
    answer(number, { problem: error instanceof Error ? (error.stack ?? error.message) : String(error) })
  }
}

process.on("message", obey)
