// Statements over many IDs in batches that stay far below SQLite's bound on parameters.
import { Effect } from "effect"

const idsPerStatement = 500

export const inBatches = <A, B, E, R>(
  items: ReadonlyArray<A>,
  run: (some: ReadonlyArray<A>) => Effect.Effect<ReadonlyArray<B>, E, R>
): Effect.Effect<ReadonlyArray<B>, E, R> =>
  Effect.map(
    Effect.forEach(
      Array.from(
        { length: Math.ceil(items.length / idsPerStatement) },
        (_, index) => items.slice(index * idsPerStatement, (index + 1) * idsPerStatement)
      ),
      run
    ),
    (answers) => answers.flat()
  )
