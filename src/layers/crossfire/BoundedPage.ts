// One page of a room within a bound of bytes: what is too large is read again with fewer events, down to one.
import { Effect } from "effect"
import { Matrix, type MatrixError, type Page, type PageFailed, type PageRequest } from "../../services/Matrix.ts"

/** What one answer may hold in memory, and the bound for a single event. */
export const maxPageBytes = 8 * 1024 * 1024
export const maxEventBytes = 64 * 1024 * 1024

/** With the limit that it was read with in the end: what lies behind it may be as large. */
export interface BoundedPage extends Page {
  readonly limit: number
}

export const read = (
  request: Omit<PageRequest, "maxBytes">
): Effect.Effect<BoundedPage, MatrixError | PageFailed, Matrix> =>
  Effect.flatMap(Matrix, (matrix) => {
    const attempt = (limit: number): Effect.Effect<BoundedPage, MatrixError | PageFailed> =>
      matrix.page({ ...request, limit, maxBytes: limit === 1 ? maxEventBytes : maxPageBytes }).pipe(
        Effect.map((page) => ({ ...page, limit })),
        Effect.catchTag("PageFailed", (failed) =>
          failed.reason === "too-large" && limit > 1 ? attempt(Math.floor(limit / 2)) : Effect.fail(failed))
      )
    return attempt(request.limit)
  })
