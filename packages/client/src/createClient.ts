/** One client of one server. */
import { type MachineClient, machineClient } from "./InstanceClient.ts"
import { type ClientOptions, Requests } from "./Requests.ts"
import type { AnyMachine } from "./types.ts"

export type { ClientOptions }

/** By the names of the machines. */
export type Client<M extends { readonly [name: string]: AnyMachine }> = { readonly [K in keyof M]: MachineClient<M[K]> }

/**
 * `M` names the machines of the server by their types alone: `createClient<typeof machines>(...)`, where `machines` is an object with each
 * machine under its name.
 */
export const createClient = <M extends { readonly [name: string]: AnyMachine }>(options: ClientOptions = {}): Client<M> => {
  const requests = new Requests(options)
  const known = new Map<string, MachineClient<AnyMachine>>()
  return new Proxy({} as Client<M>, {
    get: (_, name) => {
      // `await client` asks whether it is a Promise.
      if (typeof name !== "string" || name === "then") return undefined
      const client = known.get(name) ?? machineClient(requests, name)
      known.set(name, client)
      return client
    },
  })
}
