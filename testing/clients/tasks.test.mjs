/** @google-cloud/tasks against the fake of Cloud Tasks, over REST. */
import assert from "node:assert/strict"
import { createServer } from "node:http"
import { createRequire } from "node:module"
import { after, before, test } from "node:test"
import { CloudTasksClient } from "@google-cloud/tasks"
import { startFakeCloudTasks } from "../../packages/knowledge/testing/FakeCloudTasks.ts"

/** The token library, in the version that this client uses. */
const ofClient = createRequire(import.meta.resolve("@google-cloud/tasks"))
const { OAuth2Client } = createRequire(ofClient.resolve("google-gax"))("google-auth-library")

const queue = "projects/project/locations/here/queues/workflow-tasks"

/** @type {import("../../packages/knowledge/testing/FakeCloudTasks.ts").FakeCloudTasks} */
let fake
/** @type {CloudTasksClient} */
let client
/** @type {Array<{ url: string | undefined, headers: import("node:http").IncomingHttpHeaders, body: string }>} */
const calls = []
/** @type {Array<() => void>} */
const waiting = []
const server = createServer((request, response) => {
  let body = ""
  request.on("data", (piece) => {
    body += piece
  })
  request.on("end", () => {
    calls.push({ url: request.url, headers: request.headers, body })
    // The first call fails.
    response.writeHead(calls.length === 1 ? 503 : 200).end()
    for (const wake of waiting.splice(0)) wake()
  })
})

/** @param {number} count */
const called = async (count) => {
  while (calls.length < count) await new Promise((resolve) => waiting.push(() => resolve(undefined)))
}

before(async () => {
  fake = await startFakeCloudTasks({ queues: [queue] })
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(undefined)))
  const answer = await fetch(`${fake.url}/computeMetadata/v1/instance/service-accounts/default/token`, {
    headers: { "metadata-flavor": "Google" },
  })
  const { access_token } = await answer.json()
  const authClient = new OAuth2Client()
  authClient.setCredentials({ access_token })
  const { hostname, port } = new URL(fake.url)
  client = new CloudTasksClient({
    fallback: true,
    protocol: "http",
    apiEndpoint: hostname,
    port: Number(port),
    projectId: "project",
    authClient,
  })
})

after(async () => {
  await client.close()
  await fake.close()
  server.close()
  server.closeAllConnections()
})

const url = () => `http://127.0.0.1:${/** @type {import("node:net").AddressInfo} */ (server.address()).port}/activities/extraction`

/** @param {string} id */
const taskOf = (id, more = {}) => ({
  name: `${queue}/tasks/${id}`,
  httpRequest: {
    url: url(),
    httpMethod: /** @type {const} */ ("POST"),
    headers: { "Content-Type": "application/json" },
    body: Buffer.from('{"a":"ø"}').toString("base64"),
    oidcToken: { serviceAccountEmail: "tasks@project.iam.gserviceaccount.com", audience: "https://server" },
  },
  ...more,
})

test("creates a task that is called with a signed token, and again after a failure", async () => {
  const [task] = await client.createTask({ parent: queue, task: taskOf("first") })
  assert.equal(task.name, `${queue}/tasks/first`)
  await called(2)
  const [first, second] = calls
  assert.equal(first?.url, "/activities/extraction")
  assert.equal(first?.body, '{"a":"ø"}')
  assert.equal(first?.headers["x-cloudtasks-taskretrycount"], "0")
  assert.equal(second?.headers["x-cloudtasks-taskretrycount"], "1")
  // The official token library verifies the signature of the fake.
  const { keys } = await (await fetch(fake.keysUrl)).json()
  const { createPublicKey } = await import("node:crypto")
  const pems = Object.fromEntries(
    keys.map((/** @type {{ kid: string }} */ key) => [
      key.kid,
      createPublicKey({ key: /** @type {never} */ (key), format: "jwk" }).export({ type: "spki", format: "pem" }),
    ]),
  )
  const token = String(first?.headers.authorization).replace("Bearer ", "")
  const ticket = await new OAuth2Client().verifySignedJwtWithCertsAsync(token, pems, "https://server", ["https://accounts.google.com"])
  assert.equal(ticket.getPayload()?.email, "tasks@project.iam.gserviceaccount.com")
})

test("is refused a task name that was used before, also after its task has ended", async () => {
  await assert.rejects(client.createTask({ parent: queue, task: taskOf("first") }), /existed too recently|ALREADY_EXISTS/)
})

test("finds, lists and deletes scheduled tasks", async () => {
  const scheduleTime = { seconds: Math.floor((performance.timeOrigin + performance.now()) / 1000) + 3600 }
  await client.createTask({ parent: queue, task: taskOf("later", { scheduleTime }) })
  const [found] = await client.getTask({ name: `${queue}/tasks/later` })
  assert.equal(found.httpRequest?.url, url())
  const [tasks] = await client.listTasks({ parent: queue })
  assert.deepEqual(
    tasks.map(({ name }) => name),
    [`${queue}/tasks/later`],
  )
  await client.deleteTask({ name: `${queue}/tasks/later` })
  await assert.rejects(client.getTask({ name: `${queue}/tasks/later` }), /not found/i)
})

test("is refused invalid requests, as by the service", async () => {
  await assert.rejects(client.createTask({ parent: `${queue}-missing`, task: {} }), /does not exist/)
  await assert.rejects(
    client.createTask({ parent: queue, task: taskOf("deadline", { dispatchDeadline: { seconds: 3600 } }) }),
    /dispatchDeadline/,
  )
  const large = taskOf("large")
  large.httpRequest.body = Buffer.alloc(200_000).toString("base64")
  await assert.rejects(client.createTask({ parent: queue, task: large }), /too large/)
})
