// The headers that every answer carries, by what was asked: a browser must not guess types, keep answers, frame them, or hand
// them to another page. What a handler set itself stands.
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import { guardingHeaders } from "../WebPages.ts"
import type { Door } from "./RouteTable.ts"

const sealed = {
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
  "cache-control": "no-store",
  "x-frame-options": "DENY"
} as const

const api = {
  ...sealed,
  "x-content-type-options": "nosniff",
  "cross-origin-resource-policy": "same-origin",
  "referrer-policy": "no-referrer",
  "x-robots-tag": "noindex, nofollow"
} as const

/** Null: no route was found. */
export const headersOf = (door: Door | null): Readonly<Record<string, string>> =>
  door === "pages" ? { ...guardingHeaders, ...sealed } : api

export const guarded = (
  response: HttpServerResponse.HttpServerResponse,
  door: Door | null
): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.setHeaders(response, { ...headersOf(door), ...response.headers })
