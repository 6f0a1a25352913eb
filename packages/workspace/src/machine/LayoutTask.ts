/** The task of a worker process that lays out diagrams. */
import { Layout } from "@detent/machine/diagram"
import * as Effect from "effect/Effect"

export interface PlaceInput {
  readonly scene: Layout.Scene
  readonly direction: Layout.Direction
}

export const placeTask = "diagram.place"

export const place = ({ scene, direction }: PlaceInput): Promise<Layout.Places> => Effect.runPromise(Layout.place(scene, direction))
