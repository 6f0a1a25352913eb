/** The summary when all orders have ended. */
import type { Board, Row } from "./Board.ts"
import type { Style } from "./Style.ts"

const next = [
  ["examples/order/Order.ts", "the machine: states, events, transitions, commands"],
  ["examples/order/Order.svg", "its diagram; .mmd and .dot beside it"],
  ["examples/document, batch, traffic-light", "groups, running work, retries, timers"],
  ["npm test", "the checks and all tests"],
  ["npm run bench -- machine", "the benchmarks"],
] as const

export const summary = (board: Board, style: Style): string => {
  const finals = Map.groupBy(board.rows, ({ state }) => state?._tag ?? "not started")
  return [
    style.bold("Orders by final state"),
    ...table([...finals].map(([tag, rows]) => [tag, rows.length, rows.map(nameOf).join(", ")])),
    "",
    style.bold("Commands executed"),
    ...table([...board.commands].map(([slot, count]) => [slot, count, ""])),
    "",
    style.bold("Refused events"),
    ...board.refusals.map((message) => `  ${style.red(message)}`),
    "",
    style.bold("Read next"),
    ...table(
      next.map(([place, what]) => [style.cyan(place), "", what]),
      style.cyan("").length,
    ),
    "",
  ].join("\n")
}

const nameOf = ({ orderId, state }: Row) => (state?._tag === "Cancelled" ? `${orderId} (${state.reason})` : orderId)

/** Columns as wide as their widest cell; `invisible` characters of the first column take no room. */
const table = (rows: ReadonlyArray<readonly [string, number | "", string]>, invisible = 0): ReadonlyArray<string> => {
  const width = Math.max(...rows.map(([first]) => first.length - invisible))
  return rows.map(([first, count, rest]) => {
    const padding = " ".repeat(width + invisible - first.length)
    return `  ${first}${padding}  ${count === "" ? "" : `${String(count).padStart(2)}  `}${rest}`.trimEnd()
  })
}
