import { createToken } from "@detent/workspace/operations/access"
import { optional } from "@detent/workspace/optional"
import * as Effect from "effect/Effect"
import { command } from "../../line/Command.ts"
import { changedHere } from "../../workspace/Changing.ts"
import { observing } from "../../workspace/Opening.ts"
import { keyOption } from "../shared.ts"
import { namesIn, shown } from "./shared.ts"

export default command(
  {
    name: "token create",
    summary: "make a named token for clients of the server",
    detail:
      "Servers accept it within two seconds, beside the token that they were started with.\n" +
      "The secret is printed once; the database has its hash only.",
    arguments: [{ name: "name", summary: "a name of letters, digits, dots, - and _, which histories and the audit log show" }],
    options: [
      { name: "role", kind: "text", value: "ROLE", choices: ["read", "operate"], default: "read", summary: "what it may do" },
      { name: "machine", kind: "text", value: "NAME,…", summary: "only instances of these machines" },
      { name: "event", kind: "text", value: "NAME,…", summary: "with --machine: only these events may be sent, and nothing else changed" },
      { name: "expires", kind: "text", value: "TIME", summary: 'how long it is valid, such as "90 days". Default: it does not end' },
      keyOption,
    ],
    examples: [
      { line: "detent token create ci --role operate --expires '90 days'", says: "may do everything for 90 days" },
      {
        line: "detent token create shop --role operate --machine order --event Pay,Cancel",
        says: "may read orders, and send these events to them",
      },
    ],
  },
  ({ name, role, machine, event, expires, key, ...place }) => {
    const json = { name, role, ...optional({ machines: namesIn(machine), events: namesIn(event), expiresIn: expires }) }
    const change = { operation: "access.createToken", params: { name }, json, key, isSecret: true }
    return Effect.flatMap(changedHere(change, createToken(json)), shown).pipe(Effect.provide(observing(place)))
  },
)
