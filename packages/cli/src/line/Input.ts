/** The types of a command's values, derived from its line in the command table. */
import type { Argument, Option } from "./Command.ts"
import type { globalOptions } from "./options.mjs"
import type { commands } from "./table.mjs"

type Table = (typeof commands)[number]
export type CommandName = Table["name"]
type Row<Name extends CommandName> = Extract<Table, { readonly name: Name }>

type TextOf<D> = D extends { readonly choices: ReadonlyArray<infer Choice> } ? Choice : string

type ArgumentValues<A extends Argument> = {
  readonly [One in A as One["name"]]: One extends { readonly optional: true } ? TextOf<One> | undefined : TextOf<One>
}

type OptionValue<O extends Option> = O["kind"] extends "flag" ? boolean : O["kind"] extends "integer" ? number : TextOf<O>

type OptionValues<O extends Option> = {
  readonly [One in O as One["name"]]: One extends { readonly kind: "flag" } | { readonly default: string | number }
    ? OptionValue<One>
    : OptionValue<One> | undefined
}

export type GlobalValues = OptionValues<(typeof globalOptions)[number]>

/** The values of a command, as the table declares them. */
export type Input<Name extends CommandName> = ArgumentValues<Row<Name>["arguments"][number]> &
  OptionValues<Row<Name>["options"][number]> &
  GlobalValues
