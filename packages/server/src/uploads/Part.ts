/** The routes of a server with uploads. Imported only where uploads are on. */

import { UploadPart } from "@detent/api/UploadPart"
import { Systems } from "@detent/workspace/Systems"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import { uploadHandlers } from "./Http.ts"
import { UploadFeed } from "./UploadFeed.ts"

export const api = UploadPart

export const routes = HttpApiBuilder.layer(UploadPart).pipe(
  Layer.provide(uploadHandlers),
  Layer.provide(UploadFeed.layer),
  // This part is loaded only where uploads are on.
  Layer.provide(Layer.orDie(Systems.uploads)),
)
