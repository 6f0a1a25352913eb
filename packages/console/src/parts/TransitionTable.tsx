/**
 * A machine that is too large for a drawing, as a table of its states, and the neighbourhood of one of them: the transitions that lead to
 * it and away from it.
 */
import { useState } from "react"
import { Link } from "../browser/Router.tsx"
import { Button } from "./Button.tsx"
import { countText } from "./Moment.tsx"

/** The part of a machine's model that the table needs. */
export interface TransitionModel {
  readonly states: ReadonlyArray<{ readonly tag: string; readonly initial: boolean; readonly final: boolean }>
  readonly transitions: ReadonlyArray<{
    readonly _tag: "Event" | "Postpone" | "Always" | "Timeout"
    readonly from: string
    readonly event?: string
    readonly name?: string
    readonly targets: ReadonlyArray<{ readonly _tag: "State" | "Stay" | "Stop"; readonly state?: string }>
  }>
}

/** One way from a state to another one. */
export interface Step {
  readonly from: string
  readonly to: string
  /** The event or the timer. Undefined for an automatic transition. */
  readonly cause: string | undefined
}

/** All ways between states. A fallback (`*`) leads away from every state; transitions that keep the state are left out. */
export const stepsOf = ({ transitions }: TransitionModel): ReadonlyArray<Step> =>
  transitions.flatMap(({ from, event, name, targets }) =>
    targets.flatMap(({ state }) => (state === undefined ? [] : [{ from, to: state, cause: event ?? name }])),
  )

/** At most this many states are shown at first; a button shows all. */
const manyStates = 200

interface TransitionTableProps {
  readonly model: TransitionModel
  /** Why there is no drawing. */
  readonly reason: string
  readonly counts?: Readonly<Record<string, number>> | undefined
  /** The states that the instance is in. */
  readonly here?: ReadonlySet<string> | undefined
  readonly hrefOf?: ((state: string) => string) | undefined
  readonly height?: number | undefined
}

export const TransitionTable = ({ model, reason, counts, here, hrefOf, height = 420 }: TransitionTableProps) => {
  const [chosen, setChosen] = useState<string>()
  const [all, setAll] = useState(false)
  const steps = stepsOf(model)
  const state = chosen ?? [...(here ?? [])][0] ?? model.states.find(({ initial }) => initial)?.tag ?? model.states[0]?.tag ?? ""
  const shown = all ? model.states : model.states.slice(0, manyStates)
  const name = (tag: string) =>
    hrefOf === undefined ? (
      tag
    ) : (
      <Link href={hrefOf(tag)} className="text-accent hover:underline">
        {tag}
      </Link>
    )
  return (
    <div className="grid gap-3">
      <p className="text-muted">{reason}</p>
      <section aria-label={`The neighbourhood of ${state}`} className="grid gap-3 rounded-lg border border-line p-3 sm:grid-cols-2">
        <h3 className="font-semibold sm:col-span-2">{name(state)}</h3>
        <Neighbours title="From" onChoose={setChosen} ways={steps.filter(({ to }) => to === state)} end="from" />
        <Neighbours title="To" onChoose={setChosen} ways={steps.filter(({ from }) => from === state || from === "*")} end="to" />
      </section>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard must reach what scrolls. */}
      <section aria-label="States" tabIndex={0} className="overflow-auto" style={{ maxHeight: height }}>
        <table className="w-full text-left">
          <thead>
            <tr className="text-muted">
              <th scope="col">State</th>
              <th scope="col">Leads to</th>
              <th scope="col" className="text-right">
                Instances
              </th>
            </tr>
          </thead>
          <tbody>
            {shown.map(({ tag, final }) => (
              <tr key={tag} className={here?.has(tag) === true ? "bg-accent-soft font-semibold" : ""}>
                <td>
                  <button type="button" className="text-accent hover:underline" onClick={() => setChosen(tag)}>
                    {tag}
                  </button>
                  {final ? <span className="text-muted"> final</span> : null}
                </td>
                <td>{countText(new Set(steps.flatMap(({ from, to }) => (from === tag ? [to] : []))).size)}</td>
                <td className="text-right tabular-nums">{countText(counts?.[tag] ?? 0)}</td>
              </tr>
            ))}
          </tbody>
        </table>
        {model.states.length > shown.length ? (
          <Button onClick={() => setAll(true)}>Show all {countText(model.states.length)} states</Button>
        ) : null}
      </section>
    </div>
  )
}

interface NeighboursProps {
  readonly title: string
  readonly ways: ReadonlyArray<Step>
  /** The end of the ways that is shown. */
  readonly end: "from" | "to"
  readonly onChoose: (state: string) => void
}

const Neighbours = ({ title, ways, end, onChoose }: NeighboursProps) => (
  <div className="min-w-0">
    <h4 className="label">{title}</h4>
    <ul className="max-h-40 overflow-auto">
      {ways.slice(0, manyStates).map((way) => (
        <li key={`${way.from} ${way.to} ${way.cause ?? ""}`} className="flex min-w-0 gap-2 py-0.5">
          {way[end] === "*" ? (
            <span>any state</span>
          ) : (
            <button type="button" className="truncate text-left text-accent hover:underline" onClick={() => onChoose(way[end])}>
              {way[end]}
            </button>
          )}
          <span className="truncate text-muted">{way.cause ?? "automatic"}</span>
        </li>
      ))}
      {ways.length === 0 ? <li className="py-0.5 text-muted">none</li> : null}
    </ul>
  </div>
)
