/** The durable timers of an instance. */
import { useQueryClient } from "@tanstack/react-query"
import { submit, write } from "../../api/Client.ts"
import * as reads from "../../api/reads.ts"
import { useRead } from "../../live/useRead.ts"
import { ActButton } from "../../parts/Button.tsx"
import { Ago } from "../../parts/Moment.tsx"
import { Answer, Panel } from "../../parts/Panel.tsx"
import { useToast } from "../../parts/Toasts.tsx"
import { useOneAtATime } from "../../parts/useOneAtATime.ts"

export const Timers = ({ machine, id }: { readonly machine: string; readonly id: string }) => {
  const timers = useRead(reads.timersOf(machine, id))
  const client = useQueryClient()
  const toast = useToast()
  const { once, isBusy } = useOneAtATime()
  const fire = (name: string) =>
    submit(write("POST", ["instances", machine, id, "timers", name, "fire"])).then(
      () => {
        toast({ text: `The timer ${name} was fired.` })
        void client.invalidateQueries()
      },
      (reason: unknown) => toast({ text: reason instanceof Error ? reason.message : String(reason), tone: "bad" }),
    )
  return (
    <Panel title="Timers" flush>
      <Answer of={timers} rows={1}>
        {({ timers: waiting }) =>
          waiting.length === 0 ? (
            <p className="px-4 py-3 text-muted">No timer is waiting.</p>
          ) : (
            <ul>
              {waiting.map(({ name, entry, due }) => (
                <li key={`${name} ${entry}`} className="flex items-center gap-3 border-b border-line px-4 py-2 last:border-0">
                  <span className="min-w-0 flex-1 truncate font-medium">{name}</span>
                  <span className="text-muted">
                    <Ago at={due} />
                  </span>
                  <ActButton icon="clock" aria-label={`Fire ${name} now`} disabled={isBusy} onClick={() => once(() => fire(name))}>
                    Fire
                  </ActButton>
                </li>
              ))}
            </ul>
          )
        }
      </Answer>
    </Panel>
  )
}
