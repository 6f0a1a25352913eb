/** The diagram of a machine by its name; for a machine that is too large for one, a table of its states and transitions. */
import { Refused } from "../api/Client.ts"
import * as reads from "../api/reads.ts"
import { useRead } from "../live/useRead.ts"
import { Diagram } from "./Diagram.tsx"
import { Answer } from "./Panel.tsx"
import { type TransitionModel, TransitionTable } from "./TransitionTable.tsx"

type MachineDiagramProps = Omit<Parameters<typeof Diagram>[0], "layout" | "label"> & { readonly machine: string }

export const MachineDiagram = ({ machine, ...rest }: MachineDiagramProps) => {
  const layout = useRead(reads.layout(machine), { fixed: true })
  const { error } = layout
  if (error instanceof Refused && error.kind === "DiagramTooLarge")
    return <MachineTable machine={machine} reason={error.message} {...rest} />
  return (
    <Answer of={layout} rows={6}>
      {(drawn) => <Diagram layout={drawn} label={`The machine ${machine}`} {...rest} />}
    </Answer>
  )
}

const MachineTable = ({ machine, reason, counts, here, hrefOf, height }: MachineDiagramProps & { readonly reason: string }) => {
  const details = useRead(reads.machine(machine), { fixed: true })
  return (
    <Answer of={details} rows={6}>
      {({ model }) => (
        <TransitionTable
          model={(model ?? { states: [], transitions: [] }) as unknown as TransitionModel}
          reason={reason}
          counts={counts}
          here={here}
          hrefOf={hrefOf}
          height={height}
        />
      )}
    </Answer>
  )
}
