/** A table of results as text. */
export interface Table {
  readonly title: string
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<ReadonlyArray<string>>
  /** What a reader must know to judge the numbers. */
  readonly notes?: ReadonlyArray<string>
}

/** Prints a table. The first column and those with sentences are aligned left, the others right. */
export const printTable = ({ title, columns, rows, notes = [] }: Table) => {
  const widths = columns.map((column, index) => Math.max(column.length, ...rows.map((row) => row[index]?.length ?? 0)))
  const isText = (index: number) => index === 0 || rows.some((row) => (row[index] ?? "").split(" ").length > 4)
  const line = (cells: ReadonlyArray<string>) =>
    `  ${cells.map((cell, index) => (isText(index) ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0))).join("  ")}`.trimEnd()
  console.log(`\n${title}`)
  console.log(line(columns))
  for (const row of rows) console.log(line(row))
  for (const note of notes) console.log(`  ${note}`)
}

/** "2.5 x": how many times faster, or bigger, something is. */
export const times = (ratio: number) => `${ratio >= 100 ? ratio.toFixed(0) : ratio >= 10 ? ratio.toFixed(1) : ratio.toFixed(2)} x`
