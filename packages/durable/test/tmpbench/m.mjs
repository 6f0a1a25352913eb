import * as Metric from "effect/Metric"
import * as Context from "effect/Context"
const m = Metric.histogram("x", { boundaries: Metric.exponentialBoundaries({ start: 1, factor: 2, count: 14 }) })
const c = Context.empty()
for (let k=0;k<5;k++){ const t=process.hrtime.bigint(); for (let i=0;i<1e6;i++) m.updateUnsafe(i%50,c); console.log(Number(process.hrtime.bigint()-t)/1e6,"ns") }
