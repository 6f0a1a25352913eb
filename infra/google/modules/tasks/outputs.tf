output "queue" {
  description = "Full name of the queue."
  value       = google_cloud_tasks_queue.workflow_tasks.id
}
