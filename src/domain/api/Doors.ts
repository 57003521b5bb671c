// What stands before every route of the contract: for whom it is, and how much, how long and how often it may be asked.
// Annotations of groups and endpoints; the server enforces them before any handler, and the documents show them.
import { Context } from "effect"

/**
 * `people`: browsers on the web pages' own address. `programs`: fleetd and its agents, by bearer or claim; refused to
 * browsers.
 */
export class Surface extends Context.Tag("crossfire/domain/api/Doors/Surface")<Surface, "people" | "programs">() {}

export interface RequestBounds {
  readonly maxBodyBytes: number
  /** The handler's time. */
  readonly withinMillis: number
  /** Of one address; routes with the same `budget` count together. */
  readonly maxPerMinute: number
  readonly budget: string
}

export class Bounds extends Context.Tag("crossfire/domain/api/Doors/Bounds")<Bounds, RequestBounds>() {}

const kibi = 1024

export const peopleBounds: RequestBounds = {
  maxBodyBytes: 16 * kibi,
  withinMillis: 30_000,
  maxPerMinute: 600,
  budget: "people"
}

/** What begins a session: every try counts, of one address. */
export const signInBounds: RequestBounds = {
  maxBodyBytes: 4 * kibi,
  withinMillis: 10_000,
  maxPerMinute: 20,
  budget: "sign-in"
}

export const enrollmentBounds: RequestBounds = {
  maxBodyBytes: 2 * kibi * kibi,
  withinMillis: 60_000,
  maxPerMinute: 600,
  budget: "enrollment"
}

/** Requests filed or introduced, which write. */
export const enrollmentWriteBounds: RequestBounds = {
  ...enrollmentBounds,
  maxPerMinute: 60,
  budget: "enrollment-write"
}

/** Many fleets can share one address, and a valid credential is always taken: the bound is a flood's, not a rate. */
export const programBounds: RequestBounds = {
  maxBodyBytes: 8 * kibi * kibi,
  withinMillis: 120_000,
  maxPerMinute: 60_000,
  budget: "programs"
}
