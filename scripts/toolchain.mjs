// Where the project's own tools live, and which Node runs it. Plain JavaScript for Node 20: it runs before anything is installed.
import { existsSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

export const root = dirname(dirname(fileURLToPath(import.meta.url)))
export const tools = join(root, ".tools")
export const nodeVersion = "24.21.0"
/** Node's type stripping without a flag and the SQLite binding's Node-API level need this much. */
const oldestNode = [22, 19]

export const isNewEnough = (version) => {
  const [major, minor] = version.split(".").map(Number)
  return major > oldestNode[0] || (major === oldestNode[0] && minor >= oldestNode[1])
}

const ownNode = join(tools, "node", "node_modules", "node", "bin", "node")

export const projectNode = () => {
  if (isNewEnough(process.versions.node)) return process.execPath
  if (existsSync(ownNode)) return ownNode
  throw new Error("The project's Node is not installed yet. Run: npm run setup")
}
