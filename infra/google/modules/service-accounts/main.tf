# Runs activities, and the API with its workers: both do the same work on the same bucket and database.
resource "google_service_account" "activity_runner" {
  project      = var.project_id
  account_id   = "activity-runner"
  display_name = "Runs activities and the API"
}

# Cloud Tasks signs its calls as this account.
resource "google_service_account" "tasks_invoker" {
  project      = var.project_id
  account_id   = "tasks-invoker"
  display_name = "Calls activities for Cloud Tasks"
}

resource "google_secret_manager_secret_iam_member" "activity_runner" {
  for_each = var.secret_ids

  project   = var.project_id
  secret_id = each.value
  role      = "roles/secretmanager.secretAccessor"
  member    = google_service_account.activity_runner.member
}

# A task names the account that signs its call. Google requires that the principal that creates the task may act as this account.
resource "google_service_account_iam_member" "activity_runner_names_tasks_invoker" {
  service_account_id = google_service_account.tasks_invoker.name
  role               = "roles/iam.serviceAccountUser"
  member             = google_service_account.activity_runner.member
}
