/**
 * The shape of one line of the command table. The table is the only place where commands, arguments and options are named: help,
 * completions, parsing and types all come from it.
 */

/** What is completed for a value: files or folders. Without it: names in the workspace, from the command itself. */
export type Completed = "file" | "folder"

interface Described {
  readonly name: string
  readonly summary: string
  readonly complete?: Completed
  readonly choices?: ReadonlyArray<string>
}

export interface Argument extends Described {
  readonly optional?: true
}

export interface Option extends Described {
  /** `flag` takes no value. */
  readonly kind: "flag" | "text" | "integer"
  /** The name of the value in the help. */
  readonly value?: string
  readonly short?: string
  readonly default?: string | number
  /** Of an integer. */
  readonly minimum?: number
}

export interface Example {
  readonly line: string
  readonly says: string
}

export interface Command {
  /** Noun, then verb; or one word. */
  readonly name: string
  readonly summary: string
  /** What a first user should know. */
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
}

/** An input before its command is known. */
export type Values = Readonly<Record<string, string | number | boolean | undefined>>

export type Line =
  | { readonly _tag: "Run"; readonly command: Command; readonly values: Values }
  | { readonly _tag: "Help"; readonly topic: ReadonlyArray<string> }
  | { readonly _tag: "Version" }
  /** `isHelpful`: the topic's help says what could follow, so it is shown at once. */
  | { readonly _tag: "Wrong"; readonly problem: string; readonly topic: ReadonlyArray<string>; readonly isHelpful?: boolean }
