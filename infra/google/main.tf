# A workspace in Google Cloud: blobs in a bucket, everything else in PostgreSQL, the server on Cloud Run, and activities called by Cloud
# Tasks. The environments use this module with their own sizes.

# Created manually before the first apply, so that its value is not in the state of Terraform.
data "google_secret_manager_secret" "anthropic_api_key" {
  project   = var.project_id
  secret_id = "ANTHROPIC_API_KEY"
}

data "google_project" "main" {
  project_id = var.project_id
}

locals {
  data_location = "gs://${module.storage.bucket_name}/detent"

  # Derived from the name of the service, so that the service itself can get its address.
  endpoint = "https://api-server-${data.google_project.main.number}.${var.region}.run.app"

  # The variables of the packages and of the image's own configuration (infra/container/detent.config.js).
  environment = merge(local.telemetry, local.model_server, local.settings)

  telemetry    = var.otlp_endpoint == "" ? {} : { OTEL_EXPORTER_OTLP_ENDPOINT = var.otlp_endpoint }
  model_server = var.openai_base_url == "" ? {} : { OPENAI_BASE_URL = var.openai_base_url }

  settings = {
    GCP_PROJECT_ID        = var.project_id
    GCP_REGION            = var.region
    DETENT_DATA           = local.data_location
    TASKS_ENDPOINT        = local.endpoint
    TASKS_SERVICE_ACCOUNT = module.service_accounts.tasks_invoker_email
    TASKS_JOB             = "activity-runner"
  }

  secret_environment = merge(local.openai_secret, local.secrets)

  openai_secret = var.openai_api_key_secret == "" ? {} : { OPENAI_API_KEY = var.openai_api_key_secret }

  secrets = {
    ANTHROPIC_API_KEY   = data.google_secret_manager_secret.anthropic_api_key.secret_id
    DETENT_DATABASE_URL = module.database.database_url_secret
  }
}

module "service_accounts" {
  source = "./modules/service-accounts"

  project_id = var.project_id
  secret_ids = local.secret_environment
}

module "storage" {
  source = "./modules/storage"

  project_id             = var.project_id
  region                 = var.region
  bucket_name            = var.bucket_name
  noncurrent_days        = var.noncurrent_days
  force_destroy          = !var.deletion_protection
  activity_runner_member = module.service_accounts.activity_runner_member
}

module "database" {
  source = "./modules/database"

  project_id          = var.project_id
  region              = var.region
  instance_name       = var.database_instance_name
  tier                = var.database_tier
  availability_type   = var.database_availability_type
  max_connections     = var.database_max_connections
  retained_backups    = var.database_retained_backups
  subnet_range        = var.subnet_range
  deletion_protection = var.deletion_protection
}

module "tasks" {
  source = "./modules/tasks"

  project_id             = var.project_id
  region                 = var.region
  activity_runner_member = module.service_accounts.activity_runner_member
}

module "activity_runner" {
  source = "./modules/activity-runner"

  project_id            = var.project_id
  region                = var.region
  image                 = var.image
  activity_runner_email = module.service_accounts.activity_runner_email
  tasks_invoker_member  = module.service_accounts.tasks_invoker_member
  network               = module.database.network
  subnetwork            = module.database.subnetwork
  environment           = local.environment
  secret_environment    = local.secret_environment
  deletion_protection   = var.deletion_protection

  # Cloud Run refuses a job whose account cannot read its secrets.
  depends_on = [module.service_accounts]
}

module "api" {
  source = "./modules/api"

  project_id             = var.project_id
  region                 = var.region
  image                  = var.image
  cpu                    = var.api_cpu
  memory                 = var.api_memory
  activity_runner_email  = module.service_accounts.activity_runner_email
  activity_runner_member = module.service_accounts.activity_runner_member
  tasks_invoker_member   = module.service_accounts.tasks_invoker_member
  network                = module.database.network
  subnetwork             = module.database.subnetwork
  environment            = local.environment
  secret_environment     = local.secret_environment
  deletion_protection    = var.deletion_protection

  depends_on = [module.service_accounts]
}
