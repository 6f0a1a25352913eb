/**
 * A command with its arguments, options, help and code. The types of its input follow from what it declares; parsing, help and
 * completions read the same declarations from `table.json`, which a test keeps current.
 */
import type * as Effect from "effect/Effect"
import type { Output } from "../output/Output.ts"
import type { globalOptions } from "./options.mjs"

/** Completes a value with files or folders. Default: names in the workspace, from the command itself. */
export type Completed = "file" | "folder"

interface Described {
  readonly name: string
  readonly summary: string
  readonly complete?: Completed
  readonly choices?: ReadonlyArray<string>
}

export interface Argument extends Described {
  readonly optional?: true
  /** Takes all words that remain; the last argument of a command. */
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
  /** Of an integer. */
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
  /** The command runs until it is stopped: a stop is success. */
  readonly serves?: true
}

export interface Noun {
  readonly name: string
  readonly summary: string
  /** The system it belongs to. Its commands need the system's section, where there is a configuration. */
  readonly system?: "knowledge" | "uploads"
}

/** A command of the table, and the file of `commands` that has its code. */
export interface TableCommand extends Command {
  readonly module: string
}

/** An input before its command is known. */
export type Values = Readonly<Record<string, string | number | boolean | ReadonlyArray<string> | undefined>>

/** An unknown word, with suggestions. */
export interface Misspelt {
  readonly word: string
  readonly known: ReadonlyArray<string>
}

export type Line =
  | { readonly _tag: "Run"; readonly command: TableCommand; readonly values: Values }
  | { readonly _tag: "Help"; readonly topic: ReadonlyArray<string> }
  | { readonly _tag: "Version" }
  | {
      readonly _tag: "Wrong"
      readonly problem: string
      readonly topic: ReadonlyArray<string>
      readonly misspelt?: Misspelt
      /** The topic's help lists the possible words, so it is shown immediately. */
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

/** The values of a command, as it declares them. */
export type InputOf<C extends Command> = ArgumentValues<C["arguments"][number]> & OptionValues<C["options"][number]> & GlobalValues

/** Succeeds with an exit code; undefined means 0. */
type Ran = Effect.Effect<number | void, unknown, Output>

export interface RunnableCommand {
  readonly declared: Command
  /** Takes the values that the parser has checked against what is declared. */
  readonly run: (values: Values & GlobalValues) => Ran
}

export const command = <const C extends Command>(declared: C, run: (input: InputOf<C>) => Ran): RunnableCommand => ({
  declared,
  // The parser has checked the values against `declared`, which the types cannot follow through the table.
  run: run as unknown as RunnableCommand["run"],
})
