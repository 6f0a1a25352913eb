output "database_url_secret" {
  description = "Secret with the address and password of the database."
  value       = google_secret_manager_secret.database_url.secret_id

  # A starting container reads a version of the secret, which must exist by then.
  depends_on = [google_secret_manager_secret_version.database_url]
}

output "network" {
  description = "Network of the database."
  value       = google_compute_network.main.name
}

output "subnetwork" {
  description = "Subnetwork of the addresses of Cloud Run."
  value       = google_compute_subnetwork.main.name
}

output "instance_name" {
  description = "Name of the instance, for backups."
  value       = google_sql_database_instance.main.name
}
