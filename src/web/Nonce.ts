// The nonce of this very page, for styles that components make while it is open.
const nonce = document.querySelector<HTMLMetaElement>("meta[property=csp-nonce]")?.nonce ?? ""

export const styleNonce = (): string => nonce

// Where the scroll lock of dialogs looks for it.
Object.defineProperty(globalThis, "__webpack_nonce__", { value: nonce })
