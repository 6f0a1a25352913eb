/** The diagram of a machine by its name. */
import * as reads from "../api/reads.ts"
import { useRead } from "../api/useRead.ts"
import { Diagram } from "./Diagram.tsx"
import { Answer } from "./Panel.tsx"

type MachineDiagramProps = Omit<Parameters<typeof Diagram>[0], "layout" | "label"> & { readonly machine: string }

export const MachineDiagram = ({ machine, ...rest }: MachineDiagramProps) => {
  const layout = useRead(reads.layout(machine), { fixed: true })
  return (
    <Answer of={layout} rows={6}>
      {(drawn) => <Diagram layout={drawn} label={`The machine ${machine}`} {...rest} />}
    </Answer>
  )
}
