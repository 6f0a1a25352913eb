/**
 * The groups of benchmarks, and the parts of each. The code of a group is in groups/NAME/index.ts.
 *
 * @type {Readonly<Record<string, { readonly about: string, readonly parts: Readonly<Record<string, string>> }>>}
 */
export const groups = {
  machine: {
    about: "packages/machine beside a hand-written switch, xstate 5, robot3 and @xstate/store",
    parts: {
      decide: "pure decisions: a toggle and an order, from creation to the last event",
      send: "the same order as a live actor",
      actors: "10,000 idle actors: heap and time to create them",
      types: "CPU time of type-checking 20 machines of 10 states",
      imports: "CPU time of importing the package",
      check: "model checking: decisions a second, and how soon planted mistakes are found",
    },
  },
  durable: {
    about: "packages/durable beside DBOS, pg-boss, graphile-worker, Effect's workflow engine and raw SQL",
    parts: {
      transitions: "50 instances at once, each send awaited, on PostgreSQL and SQLite; CPU time per transition",
      single: "one instance, each send awaited",
      promise: "50 instances at once, through the Promise API and through the Effect API in the same run",
      timers: "1,000 and 20,000 timers due at the same time: how late they fire",
      recovery: "1,000 instances, the process killed halfway: events lost, and time to finish",
      replay: "an instance of 100,000 events, opened without and with a snapshot",
      memory: "10,000 live instances with timers: heap, and transitions across them",
      workflow: "Effect workflows of 10 activities, 50 at once, on our engine and on Effect's; DBOS; heap of a sleeping one",
      events: "domain events of 50 writers at once, in the journal and through a log with a table",
      search: "pages of instances found by indexed fields, among 1,000,000 of them",
      flow: "commands of groups: the cost of a claim without and with 10,000 groups; small groups beside one of 1,000,000 (100,000 when quick)",
      commands: "commands enqueued by 16 callers, a backlog of 20,000 executed, and the latency until one starts",
      oracle: "1,000,000 stored instances (50,000 when quick) judged by other code; which mutants of five machines are found",
    },
  },
  scale: {
    about: "packages/durable on large tables of PostgreSQL: 10,000,000 instances and 100,000,000 events (100,000 instances when quick)",
    parts: {
      growth: "cost of a transition, opens, lists, searches, timers and recoveries as the tables grow by powers of ten; table sizes",
      bloat: "10,000,000 transitions (200,000 when quick) on 1,000 rows, beside the same tables with PostgreSQL's default settings",
      retention: "removing half of 1,000,000 instances (20,000 when quick) while 50 callers write",
    },
  },
  peers: {
    about:
      "packages/durable beside other durable engines, like for like: DBOS, Effect's engine, Restate, Vercel Workflow, graphile-worker, pg-boss",
    parts: {
      steps: "workflows of 10 steps that run user code, one after the other, 50 callers",
      signal: "a signal to a waiting workflow, until the code of its next step runs",
      sleepers: "1,000 sleeping workflows that are due at once",
      queue: "jobs enqueued one at a time by 16 callers and executed",
      transition: "transitions of an instance beside calls of a virtual object of Restate",
    },
  },
  xstate: {
    about: "packages/xstate beside XState 5 itself",
    parts: {
      durable: "50 charts at once, each send awaited, on PostgreSQL, beside snapshots written by hand",
      overhead: "one decision, beside XState's pure transition",
    },
  },
  extraction: {
    about: "packages/knowledge: the extraction of one document, with and without durability",
    parts: {
      durability: "documents through runs on a SQLite file, beside a plain loop in memory",
      speed: "the built-in extractor on one core: sentences and megabytes per second",
      large: "one text of 100 MB (10 MB when quick) through a run: peak memory and time",
    },
  },
  storage: {
    about: "packages/knowledge: blobs in Google Cloud Storage and S3, on loopback fakes, beside a local folder",
    parts: {
      artifacts: "1,000 artifacts written and read back",
      large: "one blob of 1 GB (128 MB when quick), as a stream both ways: throughput and peak memory",
    },
  },
  uploads: {
    about: "packages/uploads: a file of items, one durable instance each, on SQLite",
    parts: {
      items: "1,000,000 items (50,000 when quick) from start to completed, beside a plain loop of batched INSERTs; peak memory",
      formats: "300,000 rows (30,000 when quick) as CSV, XLSX and lines of JSON, beside plain inserts and csv-parse; peak memory",
    },
  },
  batch: {
    about: "packages/knowledge from documents to the canonical graph, beside itself without durability and n3's parser",
    parts: {
      small: "small documents end to end, with and without durability; 100,000 of them unless quick",
      incremental: "1,000 documents, and a second run over the same documents unchanged",
      resolution: "mentions of generated documents: F1, and the growth of the time with ten times as many",
      ingest: "sorted triples merged into a canonical graph and published, beside n3 reading them",
    },
  },
  server: {
    about: "packages/server: the HTTP API beside a bare node:http handler, and live streams",
    parts: {
      read: "reading one instance over HTTP, beside a bare handler that returns the same bytes",
      streams: "1,000 event streams on one batch: whether each received every update, and memory",
      help: "cold start of detent --help, beside node -e 0",
    },
  },
  console: {
    about: "packages/console in Chromium, and the lists and counts behind it",
    parts: {
      load: "bytes of the first load, compressed with gzip",
      scroll: "a list of 10,000 rows (2,000 when quick): the time of a frame, and rows in the document",
      history: "an instance of 40,000 events (10,000 when quick), opened in the browser",
      batch: "the page of a batch of 1,000 documents (200 when quick): requests and renders per second, growth of the heap",
      many: "counts, newest-first lists and search by id at 1,000,000 instances, on SQLite and PostgreSQL (SQLite when quick)",
    },
  },
  cluster: {
    about: "packages/cluster: three processes on one PostgreSQL, beside one process, Effect's cluster and DBOS",
    parts: {
      delivery: "three processes that send to the same 50 instances, to their own, and to those of the others",
      peers: "three processes of detent, of Effect's cluster (volatile and persisted messages) and of DBOS, on the same work",
      faults: "three nodes under load: one killed, one frozen, all restarted; events lost and stored twice, and the time of a takeover",
    },
  },
}

/** Engines that the benchmarks leave out, and why. */
export const notMeasured = {
  Inngest: "the package `inngest-cli` has no server in it; it downloads one from GitHub when it is installed",
  Hatchet: "its server comes as a container image, and needs PostgreSQL and a message queue beside it",
  "Trigger.dev": "its server comes as container images",
}
