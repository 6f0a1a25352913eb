/** A table of results as text. */
export interface Table {
  readonly title: string
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<ReadonlyArray<string>>
  /** What a reader must know to judge the numbers. */
  readonly notes?: ReadonlyArray<string>
}

/** Prints a table. The first column is aligned left, the others right. */
export const printTable = ({ title, columns, rows, notes = [] }: Table) => {
  const widths = columns.map((column, index) => Math.max(column.length, ...rows.map((row) => row[index]?.length ?? 0)))
  const line = (cells: ReadonlyArray<string>) =>
    `  ${cells.map((cell, index) => (index === 0 ? cell.padEnd(widths[index] ?? 0) : cell.padStart(widths[index] ?? 0))).join("  ")}`
  console.log(`\n${title}`)
  console.log(line(columns))
  for (const row of rows) console.log(line(row))
  for (const note of notes) console.log(`  ${note}`)
}

/** "2.5 x": how many times faster, or bigger, something is. */
export const times = (ratio: number) => `${ratio >= 100 ? ratio.toFixed(0) : ratio >= 10 ? ratio.toFixed(1) : ratio.toFixed(2)} x`
