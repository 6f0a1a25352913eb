/**
 * The default configuration of the image. A detent.config.ts beside it replaces it. Where a deployment sets an endpoint for Cloud
 * Tasks, batches with `dispatch: "tasks"` use its queue; otherwise the queue is in the database.
 */
const {
  GCP_PROJECT_ID: project,
  GCP_REGION: location,
  TASKS_ENDPOINT: endpoint,
  TASKS_SERVICE_ACCOUNT: serviceAccount,
  TASKS_JOB: job,
} = process.env

const cloudTasks = { queue: "cloud-tasks", project, location, serviceAccount, endpoint, ...(job ? { job } : {}) }

export default { knowledge: endpoint ? { tasks: cloudTasks } : {}, uploads: ["items"] }
