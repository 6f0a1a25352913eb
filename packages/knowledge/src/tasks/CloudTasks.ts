/**
 * Enqueues tasks in Google Cloud Tasks, through its REST API. A task calls `POST /activities/:name` of the server with an OIDC token, or
 * starts a Cloud Run job with an OAuth token: `jobs:run` is an API of Google's, and responds before the job has ended. The name of a task
 * is the hash of its key, so that Cloud Tasks refuses a second task with the same key.
 */

import { type GoogleCredentials, googleCredentials } from "@detent/blobs/credentials"
import { innermostReason } from "@detent/machine/internal"
import * as Clock from "effect/Clock"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { type ActivityName, type CloudTasksSettings, taskName } from "./Task.ts"
import { type EnqueueTaskOptions, TaskQueue, TaskQueueFailed, type TaskQueueService } from "./TaskQueue.ts"

/** The header with the key of a task. */
export const taskKeyHeader = "x-detent-task"

const cloudScope = "https://www.googleapis.com/auth/cloud-platform"

/** The size limit of a task, in bytes. */
const largestTask = 100 * 1024

/** The resource name of the queue. */
const nameOf = ({ project, location, name = "workflow-tasks" }: CloudTasksSettings): string =>
  `projects/${project}/locations/${location}/queues/${name}`

export const layer = (settings: CloudTasksSettings): Layer.Layer<TaskQueue> =>
  Layer.effect(
    TaskQueue,
    Effect.map(googleCredentials(cloudScope), (credentials) => make(settings, credentials)),
  )

export const make = (settings: CloudTasksSettings, credentials: GoogleCredentials): TaskQueueService => {
  const queue = nameOf(settings)
  const { maxRetrySeconds = 3600, dispatchSeconds = 1800, tasksUrl = "https://cloudtasks.googleapis.com" } = settings
  const failed = (retryable: boolean, problem: string, nextStep: string) => new TaskQueueFailed({ queue, problem, nextStep, retryable })

  const send = (body: string) =>
    Effect.gen(function* () {
      const token = yield* Effect.mapError(credentials.token, ({ problem, nextStep, retryable }) =>
        retryable ? failed(true, problem, `${tryLater}; if it stays like this, ${nextStep}`) : failed(false, problem, nextStep),
      )
      const request = HttpClientRequest.post(`${tasksUrl}/v2/${queue}/tasks`).pipe(
        HttpClientRequest.bearerToken(Redacted.value(token)),
        HttpClientRequest.bodyText(body, "application/json"),
      )
      const response = yield* Effect.mapError(HttpClient.execute(request), (error) => failed(true, innermostReason(error), tryLater))
      const text = yield* Effect.orElseSucceed(response.text, () => "")
      return { status: response.status, problem: `${response.status} ${problemIn(text)}`.trim() }
    }).pipe(
      Effect.timeoutOrElse({ duration: "30 seconds", orElse: () => Effect.fail(failed(true, "no answer came in time", tryLater)) }),
      Effect.provideService(HttpClient.TracerDisabledWhen, () => true),
      Effect.provideService(FetchHttpClient.RequestInit, { redirect: "error" }),
      Effect.provide(FetchHttpClient.layer),
    )

  const enqueue = (activity: ActivityName, input: object, options: EnqueueTaskOptions) =>
    Effect.gen(function* () {
      const body = JSON.stringify({ task: yield* taskOf(settings, activity, input, options) })
      if (Buffer.byteLength(body) > largestTask)
        return yield* failed(
          false,
          `the task ${options.key} has ${Buffer.byteLength(body)} bytes, and 102,400 are allowed`,
          "shorten its input",
        )
      let answer = yield* send(body)
      if (answer.status === 401) {
        yield* credentials.forget
        answer = yield* send(body)
      }
      const { status, problem } = answer
      // 409: a task of this name exists, or existed.
      if (status === 200 || status === 409) return
      if (status === 429 || status === 408 || status >= 500) return yield* failed(true, problem, tryLater)
      return yield* failed(false, problem, nextSteps[status] ?? "correct knowledge.tasks, then resume the batch")
    })

  return {
    // The last delivery may start at the end of the retries and use its whole deadline; half an hour is the margin.
    patience: Duration.seconds(maxRetrySeconds + dispatchSeconds + 1800),
    enqueue,
  }
}

const tryLater = "it is tried again"

const nextSteps: Readonly<Record<number, string>> = {
  401: "check the credentials of this process, then resume the batch",
  403: "give this process's account the role cloudtasks.enqueuer on the queue and iam.serviceAccountUser on the account of the tasks, then resume the batch",
  404: "create the queue, or correct knowledge.tasks, then resume the batch",
}

const decodeProblem = Schema.decodeOption(Schema.fromJsonString(Schema.Struct({ error: Schema.Struct({ message: Schema.String }) })))

const problemIn = (text: string): string => Option.getOrUndefined(decodeProblem(text))?.error.message.slice(0, 500) ?? ""

const taskOf = (settings: CloudTasksSettings, activity: ActivityName, input: object, { key, delay }: EnqueueTaskOptions) =>
  Effect.map(Clock.currentTimeMillis, (now) => {
    const { job, jobActivities = ["resolution", "validation", "ingestion"], dispatchSeconds = 1800 } = settings
    const isJob = job !== undefined && jobActivities.includes(activity)
    const at = delay === undefined ? undefined : now + Duration.toMillis(Duration.fromInputUnsafe(delay))
    return {
      name: `${nameOf(settings)}/tasks/${taskName(key)}`,
      ...(at === undefined ? {} : { scheduleTime: DateTime.formatIso(DateTime.makeUnsafe(at)) }),
      dispatchDeadline: `${dispatchSeconds}s`,
      httpRequest: isJob ? jobCall(settings, job, activity, input, key) : serverCall(settings, activity, input, key),
    }
  })

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64")

const serverCall = (
  { serviceAccount, endpoint, audience = endpoint }: CloudTasksSettings,
  activity: ActivityName,
  input: object,
  key: string,
) => ({
  url: `${endpoint.replace(/(?<!\/)\/+$/, "")}/activities/${activity}`,
  httpMethod: "POST",
  headers: { "Content-Type": "application/json", [taskKeyHeader]: key },
  body: encoded(input),
  oidcToken: { serviceAccountEmail: serviceAccount, audience },
})

/** One job runs all activities: its environment names the activity. */
const jobCall = (settings: CloudTasksSettings, job: string, activity: ActivityName, input: object, key: string) => {
  const { project, location, serviceAccount, jobAttempts = 4, runUrl = "https://run.googleapis.com" } = settings
  const env = [
    { name: "ACTIVITY_NAME", value: activity },
    { name: "ACTIVITY_INPUT", value: JSON.stringify(input) },
    { name: "ACTIVITY_KEY", value: key },
    { name: "ACTIVITY_ATTEMPTS", value: String(jobAttempts) },
  ]
  return {
    url: `${runUrl}/v2/projects/${project}/locations/${location}/jobs/${job}:run`,
    httpMethod: "POST",
    headers: { "Content-Type": "application/json" },
    body: encoded({ overrides: { containerOverrides: [{ env }] } }),
    oauthToken: { serviceAccountEmail: serviceAccount, scope: cloudScope },
  }
}
