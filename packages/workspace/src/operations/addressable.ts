/**
 * Instances and executions that a user starts are reached by addresses. Clients resolve the parts `.` and `..` of an address before
 * they send it, encoded ones too. A program that starts such an instance by the engine can use it there.
 */
export const addressProblem = (id: string): string | undefined =>
  id === "." || id === ".." ? `its id ${id} cannot be part of an address: use another one` : undefined
