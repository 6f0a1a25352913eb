import { activitiesConformance } from "./activitiesConformance.ts"

activitiesConformance("SQLite")
