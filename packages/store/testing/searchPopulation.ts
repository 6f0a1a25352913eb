/** Orders by the hundred thousand, with three indexed fields and a label each, written with plain SQL: for plans and measurements. */

/** The statements that write them. `numbers`: an expression for the numbers from 1 on. `prefix`: of the tables. */
export const searchPopulation = (numbers: string, dialect: "sqlite" | "pg"): ReadonlyArray<string> => {
  const prefix = dialect === "pg" ? "detent." : "detent_"
  const no = dialect === "pg" ? "false" : "0"
  const yes = dialect === "pg" ? "true" : "1"
  const id = dialect === "pg" ? "'o-' || lpad(n::text, 8, '0')" : "printf('o-%08d', n)"
  // A customer has 20 orders; one of 4 is large; due dates and totals repeat.
  const customer = "'customer-' || (n / 20)"
  const total = "(n * 7919) % 100003"
  const dueAt = "1700000000000.0 + (n * 104729) % 1000000 * 1000.0"
  const size = "case when n % 4 = 0 then 'large' else 'small' end"
  const ordered = `(select ${prefix}instances.*, cast(substr(id, 3) as bigint) as n from ${prefix}instances where machine = 'order') i`
  const field = (name: string, column: string, value: string, isLabel = no) =>
    `insert into ${prefix}fields (instance, is_label, name, machine, id, ${column})
     select instance, ${isLabel}, '${name}', machine, id, ${value} from ${ordered}`
  return [
    `insert into ${prefix}instances (machine, id, tag, status, sequence, version, needs_owner, owes, started_at, updated_at)
     select 'order', ${id}, case when n % 10 = 0 then 'Paid' else 'Open' end, case when n % 10 = 0 then 'final' else 'running' end,
       3, 1, ${no}, ${no}, n, n from ${numbers}`,
    `insert into ${prefix}listing (instance, machine, id, tag, status, updated_at)
     select instance, machine, id, tag, status, updated_at from ${prefix}instances`,
    `insert into ${prefix}counts (machine, tag, instances) select machine, tag, count(*) from ${prefix}instances group by machine, tag`,
    field("customer", "text", customer),
    field("size", "text", size),
    field("total", "number", total),
    field("dueAt", "number", dueAt),
    field("incident", "text", "'inc-' || (n / 1000)", yes),
  ]
}

/** A series of numbers from 1 on. */
export const numbersTo = (total: number, dialect: "sqlite" | "pg"): string =>
  dialect === "pg"
    ? `generate_series(1, ${total}::bigint) n`
    : `(with recursive s (n) as (select 1 union all select n + 1 from s where n < ${total}) select n from s)`
