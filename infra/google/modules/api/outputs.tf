output "url" {
  description = "Address of the API."
  value       = google_cloud_run_v2_service.api.uri
}

output "token_secret" {
  description = "Secret with the token of the API."
  value       = google_secret_manager_secret.token.secret_id
}
