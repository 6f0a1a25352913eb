variable "project_id" {
  description = "Google Cloud project. Each environment has its own."
  type        = string
}

variable "region" {
  description = "Region of everything."
  type        = string
}

variable "image" {
  description = "Image of the Dockerfile, with the project's configuration: REGION-docker.pkg.dev/PROJECT/detent/detent:TAG."
  type        = string
}

variable "bucket_name" {
  description = "Globally unique name of the bucket."
  type        = string
}

variable "noncurrent_days" {
  description = "How many days replaced and deleted objects are kept. Not fewer than the backups of the database, which refer to objects."
  type        = number
}

variable "database_instance_name" {
  description = "Name of the Cloud SQL instance."
  type        = string
}

variable "database_tier" {
  description = "Machine type of the database."
  type        = string
}

variable "database_availability_type" {
  description = "ZONAL, or REGIONAL with a standby in another zone."
  type        = string
}

variable "database_max_connections" {
  description = "Connections that the database accepts."
  type        = number
}

variable "database_retained_backups" {
  description = "How many daily backups are kept."
  type        = number
}

variable "subnet_range" {
  description = "Addresses for Cloud Run in the network of the database."
  type        = string
  default     = "10.8.0.0/24"
}

variable "api_cpu" {
  description = "Processors of the server."
  type        = string
}

variable "api_memory" {
  description = "Memory of the server."
  type        = string
}

variable "otlp_endpoint" {
  description = "Collector of traces, metrics and logs of the server and of the jobs, such as `https://otel.example.org`. Default: none."
  type        = string
  default     = ""
}

variable "openai_api_key_secret" {
  description = "Name of the secret with the key of OpenAI, or of a server that speaks its protocol. Default: none."
  type        = string
  default     = ""
}

variable "openai_base_url" {
  description = "Server that speaks OpenAI's protocol, such as `https://models.example.org/v1`. Default: OpenAI's own."
  type        = string
  default     = ""
}

variable "deletion_protection" {
  description = "Whether database, service, job and objects are kept when `terraform destroy` runs."
  type        = bool
}
