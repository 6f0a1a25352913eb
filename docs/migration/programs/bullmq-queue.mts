import { Queue, Worker } from "bullmq"

const connection = { host: "127.0.0.1", port: 6379 } // needs Redis
const mails = new Queue<{ to: string }>("mails", { connection })

await mails.add("welcome", { to: "ada@example.org" }, { jobId: "welcome-7", attempts: 5, backoff: { type: "exponential", delay: 1000 } })
await mails.add("reminder", { to: "grace@example.org" }, { jobId: "reminder-7", delay: 50, priority: 1 })

const worker = new Worker<{ to: string }>("mails", async ({ id, data }) => console.log(`mail to ${data.to} under the key ${id}`), {
  connection,
  concurrency: 16,
  limiter: { max: 100, duration: 60_000 },
})
worker.on("failed", (job, error) => console.error(job?.id, error.message))
