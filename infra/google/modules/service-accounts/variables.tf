variable "project_id" {
  description = "Project that holds the accounts."
  type        = string
}

variable "secret_ids" {
  description = "Secrets that activity-runner reads, by any name."
  type        = map(string)
}
