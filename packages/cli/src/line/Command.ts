/**
 * A command with its arguments, options, help and code. The types of its input follow from its declaration; parsing, help and
 * completions read the same declarations from `table.json`, which `build.mjs` makes of them.
 */
import type * as Effect from "effect/Effect"
import type { Output } from "../output/Output.ts"
import type { Workspaces } from "../Workspaces.ts"
import type { globalOptions } from "./options.mjs"

/** Completes a value with files or folders. Default: no completion. */
export type Completed = "file" | "folder"

interface Described {
  readonly name: string
  readonly summary: string
  readonly complete?: Completed
  readonly choices?: ReadonlyArray<string>
}

export interface Argument extends Described {
  readonly optional?: true
  /** Takes all remaining words; only for the last argument of a command. */
  readonly many?: true
}

export interface Option extends Described {
  /** `flag` takes no value. */
  readonly kind: "flag" | "text" | "integer"
  /** The name of the value in the help. */
  readonly value?: string
  readonly short?: string
  readonly default?: string | number
  /** The environment variable whose value replaces the default. */
  readonly variable?: string
  /** The least value of an integer. */
  readonly minimum?: number
}

export interface Example {
  readonly line: string
  readonly says: string
}

/** The declaration of a command. */
export interface Command {
  /** Noun, then verb; or one word. */
  readonly name: string
  readonly summary: string
  /** Details for a first-time user. */
  readonly detail?: string
  readonly arguments: ReadonlyArray<Argument>
  readonly options: ReadonlyArray<Option>
  readonly examples: ReadonlyArray<Example>
  /** The command runs until it is stopped, and then exits with 0. */
  readonly serves?: true
}

export interface Noun {
  readonly name: string
  readonly summary: string
  /** The system of the noun. Its commands need the system's section in the configuration, if there is one. */
  readonly system?: "knowledge" | "uploads"
}

/** The parsed values of a command line, by name. */
export type Values = Readonly<Record<string, string | number | boolean | ReadonlyArray<string> | undefined>>

/** An unknown word, with suggestions. */
export interface Misspelt {
  readonly word: string
  readonly known: ReadonlyArray<string>
}

export type Line =
  | { readonly _tag: "Run"; readonly command: Command; readonly values: Values }
  | { readonly _tag: "Help"; readonly topic: ReadonlyArray<string> }
  | { readonly _tag: "Version" }
  | {
      readonly _tag: "Wrong"
      readonly problem: string
      readonly topic: ReadonlyArray<string>
      readonly misspelt?: Misspelt
      /** Whether to show the topic's help with the error, because it lists the possible words. */
      readonly isHelpful?: boolean
    }

type TextOf<D> = D extends { readonly choices: ReadonlyArray<infer Choice> } ? Choice : string

type ArgumentValues<A extends Argument> = {
  readonly [One in A as One["name"]]: One extends { readonly many: true }
    ? ReadonlyArray<string>
    : One extends { readonly optional: true }
      ? TextOf<One> | undefined
      : TextOf<One>
}

type OptionValue<O extends Option> = O["kind"] extends "flag" ? boolean : O["kind"] extends "integer" ? number : TextOf<O>

type OptionValues<O extends Option> = {
  readonly [One in O as One["name"]]: One extends { readonly kind: "flag" } | { readonly default: string | number }
    ? OptionValue<One>
    : OptionValue<One> | undefined
}

export type GlobalValues = OptionValues<(typeof globalOptions)[number]>

/** The types of a command's values, derived from its declaration. */
export type InputOf<C extends Command> = ArgumentValues<C["arguments"][number]> & OptionValues<C["options"][number]> & GlobalValues

/** Succeeds with an exit code; undefined means 0. */
type Ran = Effect.Effect<number | void, unknown, Output | Workspaces>

export interface RunnableCommand {
  readonly declared: Command
  /** Takes values that the parser has checked against the declaration. */
  readonly run: (values: Values & GlobalValues) => Ran
}

export const command = <const C extends Command>(declared: C, run: (input: InputOf<C>) => Ran): RunnableCommand => ({
  declared,
  // The parser has checked the values against `declared`; the types cannot express that, since it reads the table.
  run: run as unknown as RunnableCommand["run"],
})
