output "url" {
  description = "Address of the API."
  value       = module.api.url
}

output "token_secret" {
  description = "Secret with the token of the API."
  value       = module.api.token_secret
}

output "data_location" {
  description = "Where blobs are: the value of --data."
  value       = local.data_location
}

output "database_instance_name" {
  description = "Cloud SQL instance, for backups."
  value       = module.database.instance_name
}

output "queue" {
  description = "Queue of activities."
  value       = module.tasks.queue
}

output "job" {
  description = "Job that runs one activity."
  value       = module.activity_runner.job
}

output "tasks_invoker_email" {
  description = "Account that signs the calls of Cloud Tasks."
  value       = module.service_accounts.tasks_invoker_email
}
