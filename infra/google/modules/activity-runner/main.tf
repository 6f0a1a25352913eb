# One job for all activities: the call that starts an execution sets ACTIVITY_NAME and ACTIVITY_INPUT.
resource "google_cloud_run_v2_job" "activity_runner" {
  project             = var.project_id
  name                = "activity-runner"
  location            = var.region
  deletion_protection = var.deletion_protection

  template {
    task_count = 1

    template {
      service_account = var.activity_runner_email
      timeout         = "1800s"
      max_retries     = 3

      containers {
        image = var.image
        args  = ["activity"]

        resources {
          limits = {
            cpu    = "2"
            memory = "4Gi"
          }
        }

        dynamic "env" {
          for_each = var.environment

          content {
            name  = env.key
            value = env.value
          }
        }

        dynamic "env" {
          for_each = var.secret_environment

          content {
            name = env.key

            value_source {
              secret_key_ref {
                secret  = env.value
                version = "latest"
              }
            }
          }
        }
      }

      vpc_access {
        egress = "PRIVATE_RANGES_ONLY"

        network_interfaces {
          network    = var.network
          subnetwork = var.subnetwork
        }
      }
    }
  }
}

# `jobs.run` with the name and input of an activity overrides the job's environment, which `run.invoker` does not allow.
resource "google_cloud_run_v2_job_iam_member" "tasks_invoker" {
  project  = var.project_id
  name     = google_cloud_run_v2_job.activity_runner.name
  location = var.region
  role     = "roles/run.jobsExecutorWithOverrides"
  member   = var.tasks_invoker_member
}
