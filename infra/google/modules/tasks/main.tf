# Cloud Tasks calls activities. At most ten run at once, and a failed activity is retried with backoff.
resource "google_cloud_tasks_queue" "workflow_tasks" {
  project  = var.project_id
  name     = "workflow-tasks"
  location = var.region

  rate_limits {
    max_concurrent_dispatches = 10
    max_dispatches_per_second = 5
  }

  retry_config {
    max_attempts       = 5
    min_backoff        = "10s"
    max_backoff        = "300s"
    max_retry_duration = "3600s"
  }
}

resource "google_cloud_tasks_queue_iam_member" "activity_runner" {
  project  = var.project_id
  name     = google_cloud_tasks_queue.workflow_tasks.name
  location = var.region
  role     = "roles/cloudtasks.enqueuer"
  member   = var.activity_runner_member
}
