variable "project_id" {
  description = "Project that holds the accounts."
  type        = string
}

variable "secret_ids" {
  description = "Secrets that activity-runner reads; the keys of the map are not used."
  type        = map(string)
}
