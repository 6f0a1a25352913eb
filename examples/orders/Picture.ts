/** The live view: one line per order, redrawn in place. */
import type { S } from "../order/Order.ts"
import type { Board, Row } from "./Board.ts"
import { paymentSeconds } from "./Scenario.ts"
import type { Style } from "./Style.ts"

const way = ["Pending", "AwaitingPayment", "Paid", "Shipped", "Delivered"]
const cells = 5
const spinner = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧"]

type Part = readonly [text: string, paint: (text: string) => string]

/** The lines of the picture. None is wider than `columns`: a line that wraps cannot be redrawn in place. */
export const picture = (board: Board, style: Style, now: number, columns: number): ReadonlyArray<string> => {
  const ended = board.rows.filter(({ state }) => state?._tag === "Delivered" || state?._tag === "Cancelled").length
  const commands = [...board.commands.values()].reduce((sum, count) => sum + count, 0)
  const lastRefusal = board.refusals.at(-1)
  const lines: ReadonlyArray<ReadonlyArray<Part>> = [
    ...board.rows.map((row) => rowParts(row, style, now)),
    [],
    [[`  ${ended} of ${board.rows.length} orders done, ${board.events} events handled, ${commands} commands executed`, style.dim]],
    lastRefusal === undefined ? [] : [[`  ✗ refused: ${lastRefusal}`, style.red]],
  ]
  return lines.map((parts) => fit(parts, columns))
}

const rowParts = (row: Row, style: Style, now: number): ReadonlyArray<Part> => {
  const { state } = row
  if (state === undefined) return []
  const paint = paintOf(state, style)
  const done = state._tag === "Cancelled" ? 0 : way.indexOf(state._tag) + 1
  return [
    [`  ${row.orderId}  ${row.customer.padEnd(8)} ${row.total.toFixed(2).padStart(7)} €  `, (text) => text],
    ["█".repeat(done * cells), paint],
    ["░".repeat((way.length - done) * cells), style.dim],
    [`  ${state._tag.padEnd(15)}  `, paint],
    ...remark(row, state, style, now),
  ]
}

const paintOf = (state: typeof S.Type, style: Style) =>
  state._tag === "Delivered"
    ? style.green
    : state._tag === "Cancelled"
      ? style.red
      : state._tag === "AwaitingPayment"
        ? style.yellow
        : style.cyan

/** The last column: running commands, a refusal, a reason or a deadline. */
const remark = (row: Row, state: typeof S.Type, style: Style, now: number): ReadonlyArray<Part> => {
  const turn = spinner[Math.floor(now / 80) % spinner.length]
  if (row.running.size > 0) return [[`${turn} ${[...row.running].join(", ")}`, style.cyan]]
  if (row.refused !== undefined) return [[`✗ ${row.refused} refused`, style.red]]
  if (state._tag === "Cancelled") return [[state.reason, style.red]]
  if (state._tag === "AwaitingPayment") {
    const left = Math.max(0, paymentSeconds - (now - row.since) / 1000)
    return [[`cancelled in ${left.toFixed(1)} s`, style.dim]]
  }
  return "trackingNumber" in state ? [[state.trackingNumber, style.dim]] : []
}

/** Cuts the parts to the width before colouring them, because colour codes take no room. */
const fit = (parts: ReadonlyArray<Part>, columns: number): string => {
  let room = columns
  return parts
    .map(([text, paint]) => {
      const shown = [...text].slice(0, Math.max(0, room)).join("")
      room -= [...text].length
      return shown === "" ? "" : paint(shown)
    })
    .join("")
}
