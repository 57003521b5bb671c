// Builds the web pages into dist/web, where crossfire reads them. No source maps: they would tell of the machine.
import react from "@vitejs/plugin-react"
import { fileURLToPath } from "node:url"
import { defineConfig } from "vite"
import { noncePlaceholder } from "./src/domain/WebPaths.ts"

export default defineConfig({
  root: fileURLToPath(new URL("src/web", import.meta.url)),
  plugins: [react()],
  html: { cspNonce: noncePlaceholder },
  build: {
    outDir: fileURLToPath(new URL("dist/web", import.meta.url)),
    emptyOutDir: true,
    target: "es2023",
    sourcemap: false,
    // Everything is a file of its own: the policy takes scripts and fonts from this origin alone.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 1_200
  }
})
