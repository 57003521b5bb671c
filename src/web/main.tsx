// The web pages' start: takes a sign-in link's secret out of the address before anything else, then shows the page.
import { takeLink } from "./LinkSecret.ts"

import { RegistryProvider } from "@effect-atom/atom-react"
import { MantineProvider } from "@mantine/core"
import { Notifications } from "@mantine/notifications"
import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import { BrowserRouter } from "react-router"
import { App } from "./App.tsx"
import { styleNonce } from "./Nonce.ts"
import "./style/index.css"
import { theme, variables } from "./Theme.ts"

takeLink()

const root = document.getElementById("root")
if (root !== null) {
  createRoot(root).render(
    <StrictMode>
      <RegistryProvider>
        <MantineProvider
          theme={theme}
          cssVariablesResolver={variables}
          defaultColorScheme="auto"
          getStyleNonce={styleNonce}
        >
          <Notifications position="bottom-right" limit={3} />
          <BrowserRouter>
            <App />
          </BrowserRouter>
        </MantineProvider>
      </RegistryProvider>
    </StrictMode>
  )
}
