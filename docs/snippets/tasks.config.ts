import { defineConfig } from "@detent/workspace/Config"

export default defineConfig({
  knowledge: {
    tasks: {
      queue: "cloud-tasks",
      project: "my-project",
      location: "europe-west1",
      serviceAccount: "tasks-invoker@my-project.iam.gserviceaccount.com",
      endpoint: "https://api-server-123.europe-west1.run.app",
      job: "activity-runner",
    },
  },
})
