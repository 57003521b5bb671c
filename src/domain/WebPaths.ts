// The addresses of the web pages, on the pages' own origin: the browser's routes and what the server answers with the page.
export const pagePaths = {
  fleets: "/",
  requests: "/requests",
  review: "/requests/:enrollmentId",
  people: "/people",
  invitations: "/invitations",
  sessions: "/sessions",
  signIn: "/sign-in",
  signInLink: "/sign-in/link"
} as const

/** Stands in the built page where each answer puts its own nonce. */
export const noncePlaceholder = "CROSSFIRE_NONCE"
