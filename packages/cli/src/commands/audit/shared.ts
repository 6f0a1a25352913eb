/** Shared by the commands of the audit log. */
export const filters = [
  { name: "actor", kind: "text", value: "TEXT", summary: 'only what this actor did, such as "user ada" or "token ci"' },
  { name: "operation", kind: "text", value: "NAME", summary: "only operations that begin with this, such as schedules." },
  { name: "since", kind: "text", value: "TIME", summary: "only after this time: 1h (an hour ago), 2days, or 2026-11-16T09:30:00Z" },
] as const
