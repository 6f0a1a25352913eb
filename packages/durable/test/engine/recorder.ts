/** A tracer for tests. */
import * as Option from "effect/Option"
import * as Tracer from "effect/Tracer"

/** Keeps every span it is asked for. */
export const recorder = () => {
  const spans: Array<Tracer.Span> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    },
  })
  const parentOf = (span: Tracer.Span) => Option.getOrUndefined(span.parent)
  const named = (name: string) => spans.filter((span) => span.name === name)
  const childrenOf = (parent: Tracer.Span | undefined) => spans.filter((span) => parent !== undefined && parentOf(span) === parent)
  return { spans, tracer, named, childrenOf, parentOf }
}
