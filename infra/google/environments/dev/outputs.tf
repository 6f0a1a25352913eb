output "url" {
  description = "Address of the API."
  value       = module.detent.url
}

output "token_secret" {
  description = "Secret with the token of the API."
  value       = module.detent.token_secret
}

output "data_location" {
  description = "Where blobs are: the value of --data."
  value       = module.detent.data_location
}

output "database_instance_name" {
  description = "Cloud SQL instance, for backups."
  value       = module.detent.database_instance_name
}

output "queue" {
  description = "Queue of activities."
  value       = module.detent.queue
}

output "job" {
  description = "Job that runs one activity."
  value       = module.detent.job
}

output "tasks_invoker_email" {
  description = "Account that signs the calls of Cloud Tasks."
  value       = module.detent.tasks_invoker_email
}
