// The client of crossfire's contract for browsers, and what it asks for. Which address it asks is the page's own.
import * as AtomHttpApi from "@effect-atom/atom/AtomHttpApi"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import { csrfHeader } from "../domain/api/People.ts"
import { PeopleApi } from "../domain/api/PeopleApi.ts"
import type { EnrollmentId } from "../domain/Ids.ts"
import { csrfSecret } from "./CsrfSecret.ts"

export class Api extends AtomHttpApi.Tag<Api>()("crossfire/web/Api", {
  api: PeopleApi,
  httpClient: FetchHttpClient.layer,
  baseUrl: location.origin,
  transformClient: HttpClient.mapRequest((request) => {
    const secret = csrfSecret.get()
    return request.method === "GET" || secret === null
      ? request
      : HttpClientRequest.setHeader(request, csrfHeader, secret)
  })
}) {}

export const fleets = Api.query("fleets", "list", { reactivityKeys: ["fleets"] })
export const requests = Api.query("requests", "list", { reactivityKeys: ["requests"] })
export const people = Api.query("people", "list", { reactivityKeys: ["people"] })
export const invitations = Api.query("invitations", "list", { reactivityKeys: ["invitations"] })
export const signup = Api.query("signup", "get", { reactivityKeys: ["signup"] })
export const sessions = Api.query("session", "list", { reactivityKeys: ["sessions"] })
export const requestDetail = (enrollmentId: EnrollmentId) =>
  Api.query("requests", "detail", { path: { enrollmentId }, reactivityKeys: ["requests"] })
