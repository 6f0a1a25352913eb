variable "project_id" {
  description = "Project that holds the service."
  type        = string
}

variable "region" {
  description = "Region of the service."
  type        = string
}

variable "image" {
  description = "Image of the Dockerfile, with the project's configuration."
  type        = string
}

variable "cpu" {
  description = "Processors of the instance."
  type        = string
}

variable "memory" {
  description = "Memory of the instance."
  type        = string
}

variable "activity_runner_email" {
  description = "Account that the server runs as."
  type        = string
}

variable "activity_runner_member" {
  description = "The same account as a principal, which reads the token."
  type        = string
}

variable "tasks_invoker_member" {
  description = "Principal that Cloud Tasks calls the service as."
  type        = string
}

variable "network" {
  description = "Network of the database."
  type        = string
}

variable "subnetwork" {
  description = "Subnetwork of the address of the instance."
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
  description = "Whether the service is kept when `terraform destroy` runs."
  type        = bool
}
