variable "project_id" {
  description = "Project that holds the job."
  type        = string
}

variable "region" {
  description = "Region of the job."
  type        = string
}

variable "image" {
  description = "Image of the Dockerfile, with the project's configuration."
  type        = string
}

variable "activity_runner_email" {
  description = "Account that activities run as."
  type        = string
}

variable "tasks_invoker_member" {
  description = "Principal that starts executions."
  type        = string
}

variable "network" {
  description = "Network of the database."
  type        = string
}

variable "subnetwork" {
  description = "Subnetwork of the addresses of executions."
  type        = string
}

variable "environment" {
  description = "Environment variables."
  type        = map(string)
}

variable "secret_environment" {
  description = "Secret environment variables, with the names of their secrets."
  type        = map(string)
}

variable "deletion_protection" {
  description = "Whether the job is kept when `terraform destroy` runs."
  type        = bool
}
