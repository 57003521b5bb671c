import * as Atom from "@effect-atom/atom/Atom"
import * as AtomHttpApi from "@effect-atom/atom/AtomHttpApi"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { useAtomValue } from "@effect-atom/atom-react"
import { createRoot } from "react-dom/client"
import { PeopleApi } from "../domain/api/PeopleApi.ts"
class Api extends AtomHttpApi.Tag<Api>()("crossfire/web/Api", { api: PeopleApi, httpClient: FetchHttpClient.layer }) {}
const s = Api.query("session", "current", { reactivityKeys: ["session"] })
const App = () => { const r = useAtomValue(s); return <pre>{r._tag}{String(r._tag==="Success"? r.value.userId : r._tag === "Failure" ? r.cause : "")}</pre> }
createRoot(document.getElementById("root")!).render(<App />)
