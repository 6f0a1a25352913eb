/** Completion scripts, generated from the command table. Users generate them again after an update. */
import { globalOptions } from "./options.mjs"
import { commands, nouns } from "./table.mjs"

/** @typedef {import("./Command.ts").Command} Command */
/** @typedef {import("./Command.ts").Option} Option */

/** @param {Command} command */
const optionsOf = (command) => [...command.options, ...globalOptions]

/** @param {Option} option */
const flagsOf = ({ name, short }) => [`--${name}`, ...(short === undefined ? [] : [`-${short}`])]

const single = commands.filter(({ name }) => !name.includes(" ")).map(({ name, summary }) => ({ name, summary }))
const firstWords = [...single, ...nouns]

/** @param {string} noun */
const verbsOf = (noun) =>
  commands.filter(({ name }) => name.startsWith(`${noun} `)).map(({ name, summary }) => ({ name: name.slice(noun.length + 1), summary }))

/** All options that take a value: the word after one of them is not an argument. */
const valued = [
  ...new Set(
    commands
      .flatMap(optionsOf)
      .filter(({ kind }) => kind !== "flag")
      .flatMap(flagsOf),
  ),
]

/** @param {string} shell */
export function completions(shell) {
  if (shell === "fish") return fish()
  return shell === "zsh" ? zsh() : bash()
}

/** Shared by bash and zsh: finds the command in the words before the cursor, and counts its arguments. */
const scan = `  local noun="" command="" word skip="" given=0
  for word in "\${before[@]}"; do
    if [[ -n $skip ]]; then skip=""; continue; fi
    case $word in
      ${valued.join("|")}) skip=1 ;;
      -*) ;;
      *)
        if [[ -n $command ]]; then given=$((given + 1))
        elif [[ -n $noun ]]; then command="$noun $word"
        else case $word in ${nouns.map(({ name }) => name).join("|")}) noun=$word ;; *) command=$word ;; esac
        fi ;;
    esac
  done`

/** @param {(kind: string) => string} files returns the shell code that completes files or folders */
const cases = (/** @type {(kind: string) => string} */ files) => {
  const ofOption = commands.flatMap((command) =>
    command.options
      .filter(({ kind }) => kind !== "flag")
      .map((option) => `    ${quoted(`${command.name} --${option.name}`)}) ${valuesOf(option, files)} ;;`),
  )
  const everywhere = globalOptions
    .filter(({ kind }) => kind !== "flag")
    .map((option) => `    *" --${option.name}") ${valuesOf(option, files)} ;;`)
  const ofArgument = commands.flatMap((command) =>
    command.arguments
      .filter(({ choices, complete }) => choices !== undefined || complete !== undefined)
      .map((argument) => `    ${quoted(`${command.name} ${command.arguments.indexOf(argument)}`)}) ${valuesOf(argument, files)} ;;`),
  )
  const flags = commands.map(
    (command) => `      ${quoted(command.name)}) words=${quoted(optionsOf(command).flatMap(flagsOf).join(" "))} ;;`,
  )
  const verbs = nouns.map(
    ({ name }) =>
      `      ${name}) words=${quoted(
        verbsOf(name)
          .map((verb) => verb.name)
          .join(" "),
      )} ;;`,
  )
  return `  if [[ -n $skip ]]; then
    case "$command $previous" in
${[...ofOption, ...everywhere].join("\n")}
    esac
  elif [[ $current == -* ]]; then
    case $command in
${flags.join("\n")}
      *) words=${quoted(globalOptions.flatMap(flagsOf).join(" "))} ;;
    esac
  elif [[ -z $command && -n $noun ]]; then
    case $noun in
${verbs.join("\n")}
    esac
  elif [[ -z $command ]]; then
    words=${quoted(firstWords.map(({ name }) => name).join(" "))}
  else
    case "$command $given" in
${ofArgument.join("\n")}
    esac
  fi`
}

/**
 * @param {import("./Command.ts").Argument | Option} one
 * @param {(kind: string) => string} files
 */
function valuesOf({ choices, complete }, files) {
  if (choices !== undefined) return `words=${quoted(choices.join(" "))}`
  return complete === undefined ? "words=''" : files(complete)
}

function bash() {
  return `# Completions of detent for bash: eval "$(detent completions bash)"
_detent() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous=\${COMP_WORDS[COMP_CWORD-1]} words=""
  local before=("\${COMP_WORDS[@]:1:COMP_CWORD-1}")
${scan}
  COMPREPLY=()
${cases((kind) => `compopt -o filenames; COMPREPLY=($(compgen -${kind === "folder" ? "d" : "f"} -- "$current"))`)}
  if [[ -n $words ]]; then COMPREPLY=($(compgen -W "$words" -- "$current")); fi
}
complete -F _detent detent
`
}

function zsh() {
  return `#compdef detent
# Completions of detent for zsh: eval "$(detent completions zsh)"
_detent() {
  local current=\${words[CURRENT]} previous=\${words[CURRENT-1]}
  local -a before=("\${(@)words[2,CURRENT-1]}")
  local words=""
${scan}
${cases((kind) => (kind === "folder" ? "_files -/" : "_files"))}
  if [[ -n $words ]]; then compadd -- \${=words}; fi
}
compdef _detent detent
`
}

function fish() {
  const nothing = `not __fish_seen_subcommand_from ${firstWords.map(({ name }) => name).join(" ")}`
  const lines = [
    "# Completions of detent for fish: detent completions fish > ~/.config/fish/completions/detent.fish",
    "complete -c detent -f",
    ...firstWords.map(({ name, summary }) => `complete -c detent -n ${quoted(nothing)} -a ${name} -d ${quoted(summary)}`),
    ...nouns.flatMap(({ name }) => {
      const verbs = verbsOf(name)
      const undecided = `__fish_seen_subcommand_from ${name}; and not __fish_seen_subcommand_from ${verbs.map((verb) => verb.name).join(" ")}`
      return verbs.map((verb) => `complete -c detent -n ${quoted(undecided)} -a ${verb.name} -d ${quoted(verb.summary)}`)
    }),
    ...commands.flatMap((command) => {
      const seen = command.name
        .split(" ")
        .map((word) => `__fish_seen_subcommand_from ${word}`)
        .join("; and ")
      const given = command.arguments.map((one) => {
        if (one.choices !== undefined) return `complete -c detent -n ${quoted(seen)} -a ${quoted(one.choices.join(" "))}`
        return one.complete === undefined ? "" : `complete -c detent -n ${quoted(seen)} -F`
      })
      return [...given.filter((line) => line !== ""), ...command.options.map((option) => fishOption(option, ` -n ${quoted(seen)}`))]
    }),
    ...globalOptions.map((option) => fishOption(option, "")),
  ]
  return `${lines.join("\n")}\n`
}

/**
 * @param {Option} option
 * @param {string} condition
 */
function fishOption({ name, short, kind, choices, complete, summary }, condition) {
  const value =
    kind === "flag" ? "" : choices === undefined ? (complete === undefined ? " -x" : " -r -F") : ` -x -a ${quoted(choices.join(" "))}`
  return `complete -c detent${condition} -l ${name}${short === undefined ? "" : ` -s ${short}`}${value} -d ${quoted(summary)}`
}

/** @param {string} text */
function quoted(text) {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
