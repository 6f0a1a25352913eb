output "job" {
  description = "Full name of the job."
  value       = google_cloud_run_v2_job.activity_runner.id
}
