// `WebAddress` from the operator's settings. A managed homeserver's own address is known once its folder is prepared.
import { Layer } from "effect"
import { WebAddress } from "../../services/WebAddress.ts"
import { publicOrigin, type ServerSettings } from "./ServerSettings.ts"

const bare = (url: string): string => url.replace(/\/+$/u, "")

/** `homeserverUrl` is where crossfire reaches it: people too, unless the settings name another address for them. */
export const layer = (settings: ServerSettings, homeserverUrl: string): Layer.Layer<WebAddress> =>
  Layer.succeed(
    WebAddress,
    WebAddress.of({
      origin: publicOrigin(settings),
      homeserverUrl: bare(settings.homeserver.public_url ?? homeserverUrl),
      elementUrl: bare(settings.element_url)
    })
  )
