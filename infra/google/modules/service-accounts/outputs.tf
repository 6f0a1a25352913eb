output "activity_runner_email" {
  description = "Account of activities and of the API."
  value       = google_service_account.activity_runner.email
}

output "activity_runner_member" {
  description = "The same as a principal."
  value       = google_service_account.activity_runner.member
}

output "tasks_invoker_email" {
  description = "Account that signs the calls of Cloud Tasks."
  value       = google_service_account.tasks_invoker.email
}

output "tasks_invoker_member" {
  description = "The same as a principal."
  value       = google_service_account.tasks_invoker.member
}
